"""What an audit of persona cues takes, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flows.commands.progress import duration

if TYPE_CHECKING:
    from flows.cue_planning import CueSize


def cue_size_text(size: CueSize) -> str:
    """Calls, what they are made of, tokens, cost and time, then what cannot be asked and where figures are from."""
    cost = "unknown" if size.cost_usd is None else f"${size.cost_usd:,.2f}"
    time = "unknown" if size.duration_s is None else duration(size.duration_s)
    lines = [
        f"{size.release}, {size.protocol}: {size.calls:,} calls = {size.prompts:,} prompts x {size.samples} samples",
        f"tasks: {', '.join(size.tasks)}",
        f"axes: {', '.join(size.axes)}; cues: {', '.join(size.cues)}",
        f"about {size.prompt_tokens:,} tokens of prompts and {size.completion_tokens:,} of answers; cost {cost}; time {time}",
    ]
    return "\n".join([*lines, *(f"not measurable: {one}" for one in size.missing), *size.notes])
