"""Forms of what is handed in as block YAML: one place for the fields of a finding."""

from __future__ import annotations

from ..core.review import review

#: What stands for each field of a finding until it is filled in.
_FINDING = {
    "severity": "<BLOCKER | WARNING | SUGGESTION>",
    "task": "<T-001>",
    "issue": '"<what is wrong, as seen>"',
    "place": "<file:line>",
    "reason": '"<why it matters>"',
    "guidance": '"<what to do>"',
    "category": f"<{' | '.join(review.CATEGORIES)}>",
    "breaks": "[<C1 or M1, where the work misses or breaks it>]",
    "contradicts": "[<number of a decision, where the work goes against it>]",
    "violates": "[<M1, where the guidance would break it>]",
    "alternative": '"<then: guidance that does not>"',
    "verify": '"<blocker: command that exits 0 when it is mended>"',
    "files": "[<path>]",
    "reverses": "<F-001, where it takes back what that one asked for>",
    "repeats": "<F-001, where it is the same again; none, where it only is at the same place>",
}


def finding(*left_out: str) -> str:
    """An entry of `findings:` with all fields but these."""
    rows = [f"{name}: {hint}" for name, hint in _FINDING.items() if name not in left_out]
    return "- " + "\n  ".join(rows)
