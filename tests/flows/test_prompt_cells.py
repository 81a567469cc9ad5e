"""Too few prompts for a verdict are said before anything is asked, and again where the verdict is, with what asks more."""

from __future__ import annotations

import pytest

from flows.prompt_cells import too_few_prompts
from metrics.policy import Policy
from registry.audits.amounts import amounts
from registry.audits.protocols.targeted_messages import TargetedMessages, design_of
from tests.stub_server import StubServer

SMALL = ("--protocol", "targeted-messages", "--audience", "gender", "--cells", 24, "--repeats", 2)
SHORT = "context-rich mode asks 10 prompt cells, and verdicts in it need 20: --cells 64 asks 30, some to spare"


def test_few_prompts_are_said_before_an_audit_and_by_the_verdict_in_words_of_gaps(spiritlevel):
    with StubServer(models={"stub-1": 0.0, "stub-2": 0.0}) as stub:
        for version in (1, 2):
            spiritlevel("release", "add", "nova", "--model", f"stub-{version}", "--base-url", stub.base_url)
            spiritlevel("audit", f"models:/nova/{version}", *SMALL, code=None)
            assert f"models:/nova/{version}: the {SHORT}\n" in spiritlevel.stderr
        text = spiritlevel("compare", "models:/nova/1", "models:/nova/2", code=3)
        assert f"The {SHORT}; it takes such an audit of both releases, with --new" in text
        assert "bias dimension" not in text
        assert "persona" not in text
        spiritlevel("audit", "models:/nova/2", *SMALL, code=None)  # there already: nothing is asked any more
        assert "prompt cells" not in spiritlevel.stderr


@pytest.mark.parametrize("audiences", [None, ["gender"], ["gender", "income"]])
def test_the_cells_that_are_named_are_enough_and_a_design_without_them_says_so(audiences):
    protocol, policy = TargetedMessages(), Policy()
    whole = protocol.plan(audiences=audiences)
    design = design_of(whole)
    small = protocol.plan(audiences=audiences, size=amounts(design, cells=None, repeats=1, size=None).size // 4)
    said = too_few_prompts(small, policy)
    cells = int(said.split("--cells ")[1].split()[0])
    enough = protocol.plan(audiences=audiences, cells=cells, repeats=1)
    assert amounts(design, **enough.sizes, size=None).contexts == 30
    assert too_few_prompts(enough, policy) == ""
    assert "this design has 55, so give" in too_few_prompts(whole, Policy(fewest_clusters=80))
