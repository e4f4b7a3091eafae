"""What reports call the Spark that the tests run with."""

from prune_assets.engines.spark import ALONE as _ALONE
from prune_assets.engines.spark import WITH_PLAN as _WITH_PLAN
from prune_assets.engines.spark.spark_profile import reader_name

ALONE, HANDED_OVER = (f"{reader_name(None)}{end}" for end in (_ALONE, _WITH_PLAN))
