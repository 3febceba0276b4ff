"""The provider as this process knows it: its description and its keys, kept for a while, fetched by one at a time."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from leaseforge import events
from leaseforge_auth.oidc.errors import SsoError, SsoMisconfigured, SsoUnavailable
from leaseforge_auth.oidc.fetching import Fetcher
from leaseforge_auth.oidc.key_set import VerifyingKey, find_key, read_keys
from leaseforge_auth.oidc.metadata import Metadata, read_metadata
from leaseforge_auth.oidc.settings import DISCOVERY_PATH, OidcSettings

FRESH_S = 3600.0
STALE_S = 24 * 3600.0
"""While the provider cannot be asked, what is known of it stays in use that long."""
RETRY_S = 5.0
"""After a failure nobody asks again for that long, so that a provider in trouble is not stormed."""
NEW_KEYS_S = 30.0
"""For names of unknown keys, which anybody could make up, keys are fetched again no sooner."""

log = structlog.get_logger()


class Provider:
    """Description and keys of one provider."""

    def __init__(
        self, settings: OidcSettings, fetcher: Fetcher, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.fetcher = fetcher
        self._settings = settings
        self._clock = clock
        self._metadata: Metadata | None = None
        self._keys: tuple[VerifyingKey, ...] = ()
        self._metadata_at = self._keys_at = -STALE_S
        self._failure: SsoError | None = None
        self._failed_at = 0.0
        self._asking = asyncio.Lock()

    async def metadata(self) -> Metadata:
        """The provider's description. Raises SsoUnavailable, SsoMisconfigured."""
        if self._metadata is not None and self._clock() - self._metadata_at < FRESH_S:
            return self._metadata
        async with self._asking:
            if self._metadata is None or self._clock() - self._metadata_at >= FRESH_S:
                try:
                    self._metadata = await self._fetch_metadata()
                    self._metadata_at = self._clock()
                except SsoUnavailable:
                    if self._metadata is None or self._clock() - self._metadata_at >= STALE_S:
                        raise
            return self._metadata

    async def key(self, *, kid: str | None, algorithm: str) -> VerifyingKey | None:
        """The key a token names, asking for new keys if it is unknown. Raises SsoUnavailable, SsoMisconfigured."""
        metadata = await self.metadata()
        age_s = self._clock() - self._keys_at
        if age_s < FRESH_S and (found := find_key(self._keys, kid=kid, algorithm=algorithm)):
            return found
        async with self._asking:
            age_s = self._clock() - self._keys_at
            found = find_key(self._keys, kid=kid, algorithm=algorithm)
            if age_s >= FRESH_S or (found is None and age_s >= NEW_KEYS_S):
                try:
                    self._keys = read_keys(await self._fetch(metadata.jwks_uri))
                    self._keys_at = self._clock()
                except SsoUnavailable:
                    if found is None or age_s >= STALE_S:
                        raise
            return find_key(self._keys, kid=kid, algorithm=algorithm)

    async def _fetch_metadata(self) -> Metadata:
        issuer = self._settings.issuer
        document = await self._fetch(issuer.rstrip("/") + DISCOVERY_PATH)
        try:
            return read_metadata(document, issuer=issuer, has_secret=bool(self._settings.client_secret))
        except SsoMisconfigured as error:
            raise self._failed(error) from None

    async def _fetch(self, url: str) -> Mapping[str, Any]:
        if self._failure is not None and self._clock() - self._failed_at < RETRY_S:
            raise type(self._failure)(self._failure.cause, str(self._failure))
        try:
            answer = await self.fetcher.get(url)
            if answer.status != 200:
                words = f"the provider answers {answer.status} where its description or keys should be"
                kind = SsoUnavailable if answer.status >= 500 or answer.status == 429 else SsoMisconfigured
                raise kind("provider_answer", words)
        except (SsoUnavailable, SsoMisconfigured) as error:
            raise self._failed(error) from None
        self._failure = None
        return answer.document

    def _failed(self, error: SsoError) -> SsoError:
        log.warning(events.SSO_PROVIDER_FAILED, cause=error.cause, detail=str(error))
        self._failed_at = self._clock()
        self._failure = type(error)(error.cause, str(error))
        return error
