"""A PDF of one page of text, written by hand: the demo needs no library for it."""

from collections.abc import Sequence

_WIDTH, _HEIGHT = 595, 842
_LEFT, _TOP = 60, 770
_LEADING = 16
_WRAP = 90


def one_page(title: str, lines: Sequence[str]) -> bytes:
    """An A4 page with a title and as many lines as fit below it. Characters outside Latin-1 become `?`."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents 6 0 R"
        b" /Resources << /Font << /F1 4 0 R /F2 5 0 R >> >> >>" % (_WIDTH, _HEIGHT),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        _stream(_text(title, lines)),
        b"<< /Title (%b) /Producer (Leaseforge) >>" % _literal(title),
    ]
    document = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(document))
        document += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(document)
    document += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    document += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    document += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, len(objects))
    document += b"startxref\n%d\n%%%%EOF\n" % table
    return bytes(document)


def _text(title: str, lines: Sequence[str]) -> bytes:
    fitting = (_TOP - 2 * _LEADING - _LEFT) // _LEADING
    wrapped = [piece for line in lines for piece in _wrap(line)][:fitting]
    operators = [b"BT", b"/F1 18 Tf %d TL" % _LEADING, b"%d %d Td" % (_LEFT, _TOP), b"(%b) Tj" % _literal(title[:60])]
    operators += [b"/F2 11 Tf", b"0 -%d Td" % _LEADING]
    operators += [b"T* (%b) Tj" % _literal(line) for line in wrapped]
    return b"\n".join([*operators, b"ET"])


def _wrap(line: str) -> list[str]:
    return [line[start : start + _WRAP] for start in range(0, len(line), _WRAP)] or [""]


def _literal(text: str) -> bytes:
    """Text as a PDF string; anything that could end or escape it is escaped."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    raw = printable.encode("latin-1", "replace")
    return raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content)
