"""What reports call the Spark that the tests run with."""

from prune_assets.spark_reader import ALONE as _ALONE
from prune_assets.spark_reader import WITH_PLAN as _WITH_PLAN
from prune_assets.spark_reader.spark_profile import reader_name

ALONE, HANDED_OVER = (f"{reader_name(None)}{end}" for end in (_ALONE, _WITH_PLAN))
