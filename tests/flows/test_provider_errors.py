"""Reading provider errors: the wait that is asked for, the parameter that is named."""

from hypothesis import given
from hypothesis import strategies as st

from flows.provider_errors import ProviderError, retry_after_s, unsupported_parameter


def test_a_message_that_names_no_sent_parameter_adapts_nothing():
    error = ProviderError(words="400: this model does not support images", status=400)
    assert unsupported_parameter(error, {"temperature": 1.0}) is None
    unprocessable = '{"detail":[{"loc":["body","top_k"],"msg":"Extra inputs are not permitted"}]}'
    error = ProviderError(words="422: ", status=422, body=unprocessable)
    assert unsupported_parameter(error, {"temperature": 1.0, "top_k": 1}) == ("top_k", None)


@given(st.text(alphabet=st.characters(codec="ascii")), st.text(alphabet=st.characters(codec="ascii")))
def test_no_header_breaks_the_reading_of_a_wait(seconds, milliseconds):
    wait = retry_after_s({"retry-after": seconds, "retry-after-ms": milliseconds}, now=0.0)
    assert wait is None or 0 <= wait < float("inf")
