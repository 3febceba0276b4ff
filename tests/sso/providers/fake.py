"""A provider that says whatever a test wants it to say, on a loopback port."""

import asyncio
import base64
import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

CLIENT_ID = "leaseforge"
CLIENT_SECRET = "the secret both sides know, of more than 32 bytes"
ACCESS_TOKEN = "an access token"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def jwk(key: Any, kid: str | None, **more: Any) -> dict[str, Any]:
    """The public half of a key as providers publish it."""
    kinds: dict[type, Any] = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    found = next((algorithm for cls, algorithm in kinds.items() if isinstance(key, cls)), OKPAlgorithm)
    public: dict[str, Any] = found.to_jwk(key.public_key(), as_dict=True)
    public.pop("key_ops", None)
    return public | ({} if kid is None else {"kid": kid}) | {"use": "sig"} | more


def encoded(value: Any) -> str:
    """A part of a token."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def half_hash(text: str, algorithm: str = "sha256") -> str:
    """at_hash of an access token."""
    digest = hashlib.new(algorithm, text.encode()).digest()
    return encoded(digest[: len(digest) // 2])


@dataclass
class FakeProvider:
    """What it answers is there to be changed. `asked` counts requests by path; `forms` are those of the token call."""

    port: int
    metadata: dict[str, Any] = field(default_factory=dict)
    keys: list[dict[str, Any]] = field(default_factory=list)
    token_answer: tuple[int, Any] = (400, {"error": "invalid_grant"})
    userinfo: tuple[int, Any] = (200, {"sub": "subject"})
    statuses: dict[str, int] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    forms: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.metadata = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "end_session_endpoint": f"{self.issuer}/logout?tenant=1",
            "id_token_signing_alg_values_supported": ["none", "HS256", "RS256", "ES256", "EdDSA"],
            "code_challenge_methods_supported": ["plain", "S256"],
        }
        self.keys = [jwk(RSA, "rsa"), jwk(EC, "ec"), jwk(ED, "ed")]

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def claims(self, nonce: str, /, **changed: Any) -> dict[str, Any]:
        """Claims that would be let in; None takes one away."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "subject",
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "email": "ada@example.com",
            "email_verified": True,
        } | changed
        return {name: value for name, value in claims.items() if value is not None}

    def sign(
        self, claims: dict[str, Any], *, key: Any = RSA, alg: str = "RS256", kid: str | None = "rsa", **header: Any
    ) -> str:
        """A token."""
        headers = ({} if kid is None else {"kid": kid}) | header
        return jwt.PyJWS().encode(json.dumps(claims).encode(), key, algorithm=alg, headers=headers)

    def answer_with(self, id_token: Any, **more: Any) -> None:
        """The token call's next answers."""
        self.token_answer = (200, {"access_token": ACCESS_TOKEN, "token_type": "Bearer", "id_token": id_token} | more)

    def _answer(self, path: str, body: str) -> tuple[int, Any]:
        if path == "/token":
            self.forms.append({name: values[0] for name, values in parse_qs(body).items()})
            return self.token_answer
        answers = {
            "/.well-known/openid-configuration": (200, self.metadata),
            "/keys": (200, {"keys": self.keys}),
            "/userinfo": self.userinfo,
        }
        return answers.get(path, (404, {}))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request of one connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ")[1].partition("?")[0]
            length = next(
                (int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length:")), 0
            )
            body = (await reader.readexactly(length)).decode()
            self.asked[path] += 1
            status, document = self._answer(path, body)
            status = self.statuses.get(path, status)
            payload = self.raw.get(path, json.dumps(document).encode())
            location = "Location: http://127.0.0.1:1/elsewhere\r\n" if 300 <= status < 400 else ""
            writer.write(
                f"HTTP/1.1 {status} x\r\n{location}Content-Type: application/json\r\n"
                f"Content-Length: {len(payload)}\r\nConnection: close\r\n\r\n".encode()
                + payload
            )
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def fake_provider() -> AsyncIterator[FakeProvider]:
    """Listens on a free port."""
    provider: list[FakeProvider] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await provider[0].serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        provider.append(FakeProvider(server.sockets[0].getsockname()[1]))
        yield provider[0]
