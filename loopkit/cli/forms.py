"""Forms of what is handed in as block YAML: one place for the fields of a finding."""

from __future__ import annotations

#: What stands for each field of a finding until it is filled in.
_FINDING = {
    "severity": "<BLOCKER | WARNING | SUGGESTION>",
    "task": "<T-001>",
    "issue": '"<what is wrong, as seen>"',
    "place": "<file:line>",
    "reason": '"<why it matters>"',
    "guidance": '"<what to do>"',
    "breaks": "[<C1 or M1, where the work misses or breaks it>]",
    "contradicts": "[<number of a decision, where the work goes against it>]",
    "violates": "[<M1, where the guidance would break it>]",
    "alternative": '"<then: guidance that does not>"',
    "verify": '"<blocker: command that exits 0 when it is mended>"',
    "files": "[<path>]",
}


def finding(*left_out: str) -> str:
    """An entry of `findings:` with all fields but these."""
    rows = [f"{name}: {hint}" for name, hint in _FINDING.items() if name not in left_out]
    return "- " + "\n  ".join(rows)
