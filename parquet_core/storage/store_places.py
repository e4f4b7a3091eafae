"""Buckets that obstore cannot open by their address: access points of S3, Azure clouds."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from parquet_core.errors import UnsupportedFeature, WrongUse
from parquet_core.storage.stores import (
    ACCESS_POINT,
    AWS_DOMAIN,
    AWS_DOMAINS,
    AZURE_AUTHORITY,
    AZURE_CLOUDS,
    AZURE_ENDPOINTS,
    S3_ENDPOINTS,
    S3_REGIONS,
    address,
    first_set,
    root_of,
)

_ARN = re.compile(r"arn:[^:]*:(?P<service>[^:]*):(?P<region>[^:]*):[^:]*:.*")
# Accepts more names than the stores do, but excludes names that obstore would truncate.
_BUCKET = re.compile(r"[A-Za-z0-9._$-]+")
_AZURE_HOST = re.compile(r"(?P<account>[^.]+)(?P<zone>\.z\w\w)?\.(?:dfs|blob)\.(?P<cloud>.+)")
_FABRIC = "fabric.microsoft.com"


class Place(NamedTuple):
    """The URI that obstore opens, and options that the environment does not set."""

    uri: str
    options: dict[str, str]


def place_of(uri: str) -> Place:
    """Return the URI and options with which obstore opens a bucket or container.

    >>> place_of("s3://lake/t"), place_of("abfss://lake@account.dfs.core.windows.net/t")
    (Place(uri='s3://lake/', options={}), Place(uri='abfss://lake@account.dfs.core.windows.net/', options={}))
    >>> place_of("s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/lake/t").options["endpoint"]
    'https://lake-123456789012.s3-accesspoint.eu-west-1.amazonaws.com'

    Raises UnsupportedFeature for the ARN of anything but an access point of one region, and WrongUse for an invalid
    name and for a host that does not belong to Azure.
    """
    root = root_of(address(uri))
    scheme, _, rest = root.partition("://")
    name = rest.rstrip("/")
    if name.startswith("arn:"):
        return _access_point(uri, name)
    container, separator, host = name.partition("@")
    bucket = container if scheme == "abfss" or not separator else host
    if bucket and not _BUCKET.fullmatch(bucket):
        name, colon, _ = bucket.partition(":")  # a password may follow
        shown = f"{name}:***" if colon else name
        raise WrongUse(f"{uri}: {shown!r} is not the name of a bucket or container; check it")
    if scheme == "abfss" and separator:
        return _container(uri, root, container, host)
    return Place(root, _regional_endpoint() if scheme == "s3" else {})


def regional_host(region: str) -> str:
    """Return the host of S3 in a region.

    >>> regional_host("eu-west-1"), regional_host("cn-north-1")
    ('s3.eu-west-1.amazonaws.com', 's3.cn-north-1.amazonaws.com.cn')
    """
    return f"s3.{region}.{_domain(region)}"


def _domain(region: str) -> str:
    return AWS_DOMAINS.get(region.partition("-")[0], AWS_DOMAIN)


def _regional_endpoint() -> dict[str, str]:
    """Return the endpoint of the configured region if obstore gets its host wrong; empty otherwise."""
    region = first_set(S3_REGIONS, os.environ)
    if region is None or _domain(region) == AWS_DOMAIN or first_set(S3_ENDPOINTS, os.environ) is not None:
        return {}
    return {"endpoint": f"https://{regional_host(region)}"}


def _access_point(uri: str, arn: str) -> Place:
    """Return the place of an access point.

    The host of the access point is a subdomain of the endpoint of the region, or of the endpoint in the environment.
    """
    match = ACCESS_POINT.fullmatch(arn)
    if match is None:
        raise UnsupportedFeature(f"{uri}: {_refusal(arn)}")
    name, region = f"{match['name']}-{match['account']}", match["region"]
    endpoint = first_set(S3_ENDPOINTS, os.environ) or f"https://s3-accesspoint.{region}.{_domain(region)}"
    options = {
        "endpoint": endpoint.replace("://", f"://{name}.", 1),
        "region": region,
        "virtual_hosted_style_request": "true",
    }
    return Place(f"s3://{name}/", options)


def _refusal(arn: str) -> str:
    match = _ARN.fullmatch(arn)
    if match is None or not match["service"].startswith("s3"):
        return "is not an ARN of S3; write s3://BUCKET/PATH"
    if match["service"] != "s3":
        return f"places of {match['service']} are not read; name the bucket"
    if not match["region"]:
        return "a multi-Region access point is not read; name an access point of one region, or the bucket"
    return "is not an access point; write s3://arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME/PATH, or s3://BUCKET/PATH"


def _container(uri: str, root: str, container: str, host: str) -> Place:
    match = _AZURE_HOST.fullmatch(host)
    if match is not None and (match["cloud"] == _FABRIC or host.endswith(".core.windows.net")):
        return Place(root, {})
    given = first_set(AZURE_ENDPOINTS, os.environ)
    # The request carries the token, so the host in an address or a log must belong to Azure.
    if match is None or (given is None and match["cloud"] not in AZURE_CLOUDS):
        raise WrongUse(f"{uri}: {host} is not a host of Azure; {_azure_remedy(container, host)}")
    options = {"account_name": match["account"]}
    if given is None:
        options["endpoint"] = f"https://{match['account']}{match['zone'] or ''}.blob.{match['cloud']}"
    authority = AZURE_CLOUDS.get(match["cloud"])
    if authority is not None and not os.environ.get(AZURE_AUTHORITY, "").strip():
        options["authority_host"] = authority
    return Place(f"az://{container}/", options)


def _azure_remedy(container: str, host: str) -> str:
    match = _AZURE_HOST.fullmatch(host)
    if match is None:
        account = host.partition(".")[0].partition(":")[0] or "ACCOUNT"
        next_step = f"write abfss://{container}@{account}.dfs.core.windows.net/PATH"
        return f"{next_step}, or az://{container}/PATH with {AZURE_ENDPOINTS[0]} for an emulator"
    return f"set {AZURE_ENDPOINTS[0]}=https://{host.replace('.dfs.', '.blob.', 1)} to send it credentials"
