"""An API is one object beside its handler: it is found by its number, and a wrong fact ends the import."""

from __future__ import annotations

import pytest

from mockbroker.api import MODULES, Errors, Needs, api_of, handles
from protocol.apis.configs import IncrementalAlterConfigsRequest
from protocol.apis.log_dirs import DescribeLogDirsRequest
from tests.cases import for_each


@for_each(lambda: [(module, (key,)) for key, module in MODULES.items()])
def test_each_served_api_is_registered_by_its_module(key):
    api = api_of(key)
    assert (api.key, api.request.api_key, api.response.api_key) == (key, key, key)


def test_an_api_without_a_handler_is_none():
    assert api_of(4) is None


@pytest.mark.parametrize(
    ("request_class", "access", "errors", "sentence"),
    [
        (DescribeLogDirsRequest, Needs(cluster="Descrbe"), Errors(), "DescribeLogDirs: expected one of All, Read"),
        (
            IncrementalAlterConfigsRequest,
            Needs(),
            Errors(requested=("topics",)),
            "IncrementalAlterConfigsRequest has no list 'topics'",
        ),
    ],
)
def test_a_fact_that_contradicts_the_declarations_is_an_error_in_a_sentence(request_class, access, errors, sentence):
    with pytest.raises(ValueError, match=sentence):
        handles(request_class, access=access, errors=errors)(lambda call, request: None)
