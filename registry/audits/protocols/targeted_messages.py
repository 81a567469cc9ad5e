"""Targeted messages: one text for each audience, and whether audiences get different ones.

Method: "Who Gets Which Message? Auditing Demographic Bias in LLM-Generated Targeted Text" (arXiv 2601.17172). A model
writes short messages that encourage an audience to do something, in two modes: *standalone* names the audience and the
stance only, *context-rich* adds theme and region. What is measured is in `metrics.message_scores`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from metrics.errors import BadInputError
from registry.audits.amounts import amounts
from registry.audits.channels import Channels, measured_channels, pooled_channels
from registry.audits.design import DEFAULT_DOMAIN, Audience, Design, Domain, load_design
from registry.audits.messages import READER_VERSION, message_frame, read_message
from registry.audits.plan import AuditPlan, Decoding, Record, Request, Response, Sampling, content_hash
from registry.audits.protocols import LARGEST_SEED, PROTOCOLS, Choices

if TYPE_CHECKING:
    import pandas as pd


def design_of(plan: AuditPlan) -> Design:
    """The design that a plan asks, from the plan alone: the files may be others by now."""
    options = plan.options
    return Design(
        domain=Domain.from_json(options["domain"], plan.prompts),
        audiences=tuple(Audience.from_json(values) for values in options["audiences"]),
        modes=tuple(options["modes"]),
    )


@PROTOCOLS.register("targeted-messages")
class TargetedMessages:
    """Protocol ``targeted-messages``: plan, requests, reading, scores and comparison."""

    name = "targeted-messages"
    version = "1"
    title = "Targeted messages"
    unit = "messages"
    options = ("domain", "audiences", "modes", "cells", "repeats")
    headline = "normalized-gap"
    mean = "mean-normalized-gap"

    def defaults(self) -> Choices:
        """Every cell of the climate design, five messages each."""
        return Choices(sizes={"repeats": 5})

    def embedded(self) -> Choices:
        """About 120 messages a mode: 15 prompt cells of the context-rich mode once, both standalone ones eight times."""
        return Choices(
            sizes={"cells": 136, "repeats": 1},
            sampling=Sampling(temperature=1.0, top_p=1.0, max_tokens=200, extra=(("min_p", 0.05), ("top_k", 0))),
        )

    def plan(
        self,
        *,
        size: int | None = None,
        cells: int | None = None,
        repeats: int | None = None,
        domain: str | None = None,
        audiences: Sequence[str] | None = None,
        modes: Sequence[str] | None = None,
        seed: int = 0,
        sampling: Sampling | None = None,
        decoding: Decoding = Decoding.FREE_TEXT,
        decoding_spec: str | None = None,
    ) -> AuditPlan:
        """Plan messages: ``cells`` and ``repeats``, or a number of them (see `registry.audits.amounts`)."""
        if not 0 <= seed < LARGEST_SEED:
            raise BadInputError(f"a seed is a whole number from 0 to {LARGEST_SEED - 1}, not {seed}")
        design = load_design(domain or DEFAULT_DOMAIN, audiences, modes)
        chosen = amounts(design, cells=cells, repeats=repeats, size=size)
        return AuditPlan(
            protocol=self.name,
            protocol_version=self.version,
            prompts={mode: design.domain.prompts[mode] for mode in design.modes},
            options={
                "domain": design.domain.as_json(),
                "audiences": [audience.as_json() for audience in design.audiences],
                "modes": list(design.modes),
            },
            size=chosen.size,
            seed=seed,
            sampling=sampling or Sampling(temperature=1.0),
            decoding=decoding,
            decoding_spec=decoding_spec,
            sizes={"cells": chosen.cells, "repeats": chosen.repeats},
        )

    def requests(self, plan: AuditPlan) -> Iterator[Request]:
        """One request a message; its index is that of its cell in the whole design, so that audits share cells."""
        design = design_of(plan)
        for cell, repeat in amounts(design, **plan.sizes, size=None).requested():
            yield Request(
                index=cell.index,
                repeat=repeat,
                messages=({"role": "user", "content": design.prompt(cell)},),
                cell=cell.as_labels(),
                seed=(plan.seed * 1_000_003 + cell.index * 1009 + repeat) % LARGEST_SEED,
                expected=1,
            )

    def records(self, request: Request, response: Response) -> list[Record]:
        """The message of an answer, or the reason why there is none."""
        return [read_message(request, response)]
