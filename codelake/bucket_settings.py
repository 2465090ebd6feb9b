"""The settings of a store that lies in a bucket."""

import re
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

# Where a store in a bucket lies: letters, digits and -_.= between slashes, no part of dots alone.
BUCKET_URL: Final = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?P<prefix>(?:/(?!\.+(?:/|$))[\w.=-]+)*)/?",
    re.ASCII,
)


class S3Settings(BaseModel):
    """How a store in a bucket is reached; keys come from the environment alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: str = Field(
        "", description="address of an S3-compatible service, e.g. https://s3.example.org:9000"
    )
    region: str = Field("", description="region of the bucket; empty: AWS_REGION, else us-east-1")
    allow_http: bool = Field(
        default=False, description="allow an endpoint of http://, to which all travels readable"
    )
    virtual_hosted: bool = Field(
        default=False, description="the bucket's name stands in the host's, not in the path"
    )
    lease_seconds: float = Field(
        60.0,
        ge=10,  # renewed four times in it, by requests that may take seconds
        allow_inf_nan=False,
        description="a writer that was killed holds its lock for so long, in seconds; 10 at least",
    )
    folder: str = Field(
        "",
        description="folder on this machine for mirrors, stage tables and Dagster's record, in "
        "which each store has its own, s3+BUCKET+PREFIX; empty: .codelake; buckets of one name at "
        "two endpoints need two",
    )

    @model_validator(mode="after")
    def _check_endpoint(self) -> Self:
        if self.endpoint and not re.fullmatch(r"https?://[\w.:\[\]-]+(/[\w./-]*)?", self.endpoint):
            message = "endpoint: give a URL such as https://s3.example.org:9000, without keys"
            raise ValueError(message)
        if self.endpoint.startswith("http://") and not self.allow_http:
            message = "endpoint: http:// is not encrypted; give https://, or set allow_http = true"
            raise ValueError(message)
        return self
