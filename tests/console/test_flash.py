from leaseforge_console import flash
from leaseforge_console.views.frame import Flash, Link


def sent(told: Flash, seal: str = "session one") -> str:
    value = flash.cookie(told, seal=seal, path="/console", secure=True).value
    assert value is not None
    return value


def test_a_message_arrives_at_its_own_session_only() -> None:
    value = sent(Flash("good", "Paused mail."))

    assert flash.read(value, seal="session one") == (Flash("good", "Paused mail."),)
    assert flash.read(value, seal="session two") == ()


def test_a_message_keeps_its_ways_on() -> None:
    told = Flash("good", "Started.", Link("Operation", "/operations/1"), Link("Audit entry", "/audit?id=1"))

    assert flash.read(sent(told), seal="session one") == (told,)
    assert [link.path for link in told.links] == ["/operations/1", "/audit?id=1"]


def test_forged_and_broken_messages_are_dropped() -> None:
    value = sent(Flash("good", "Paused mail."))

    for broken in (None, "", "x", value[:-4], value[4:], "A" * 5000, "é", value.swapcase()):
        assert flash.read(broken, seal="session one") == ()


def test_the_cookie_is_short_lived_and_out_of_reach_of_scripts() -> None:
    cookie = flash.cookie(Flash("bad", "x" * 5000), seal="s", path="/ops/console", secure=True)

    assert (cookie.httponly, cookie.secure, cookie.samesite, cookie.path) == (True, True, "lax", "/ops/console")
    assert cookie.max_age == 60
    assert len(cookie.value or "") < 1000
