"""Credentials of the profile that AWS_PROFILE names; boto3 reads it, where that is installed.

As with Amazon's own tools, keys in the environment come first.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from parquet_core.errors import StorageFailure, WrongUse
from parquet_core.storage.known_stores import first_set

if TYPE_CHECKING:
    from typing import Any

PROFILE = "AWS_PROFILE"
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE")


def profile_asked() -> str | None:
    """Return the profile that is to be taken; None where the environment names none, or has keys beside it."""
    return None if any(os.environ.get(name) for name in _KEYS) else os.environ.get(PROFILE) or None


def reads_profiles() -> bool:
    """Tell whether a profile can be read on this machine."""
    return find_spec("boto3") is not None


def is_wrong_setting(error: Exception) -> bool:
    """Tell whether boto3 refuses its settings, before it sends a request."""
    from botocore import exceptions

    wrong = (
        exceptions.BaseEndpointResolverError,
        exceptions.ConfigNotFound,
        exceptions.ConfigParseError,
        exceptions.InvalidConfigError,
        exceptions.PartialCredentialsError,
        exceptions.ProfileNotFound,
        exceptions.ValidationError,
    )
    # An endpoint that is no URL is a plain ValueError.
    return isinstance(error, wrong) or type(error) is ValueError


def profile_options(root: str) -> dict[str, Any]:
    """Return obstore's options for the requested profile; empty if none is requested, or none can be read."""
    name = profile_asked()
    if name is None or not reads_profiles():
        return {}
    from botocore.exceptions import BotoCoreError
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        provider = Boto3CredentialProvider()
    except (BotoCoreError, ValueError) as error:
        raise (WrongUse if is_wrong_setting(error) else StorageFailure)(
            f"{root}: {PROFILE}={name} gives no credentials ({error}); check ~/.aws/config and ~/.aws/credentials"
        ) from None
    region = first_set(("AWS_REGION",), os.environ)
    return {"credential_provider": provider} | ({} if region is None else {"region": region})


def profile_keys(root: str) -> dict[str, str]:
    """Return the keys of the profile, with a session token where it has one; nothing where `profile_options` has none.

    They are those of now: of a role they end after a while.
    """
    provider = profile_options(root).get("credential_provider")
    credentials = {} if provider is None else provider()
    return {
        name: credentials[name] for name in ("access_key_id", "secret_access_key", "token") if credentials.get(name)
    }
