"""Run the examples of every operation: the response is a success and conforms to the reference."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import schemathesis

from tests.support.operations import RECORDING, Operation, document, documented, ids_of
from tests.support.own_controls import reno_source
from tests.support.service import ROOT, Service
from tests.support.small_linux import packed

CASES = [(operation, body) for operation in documented() for body in range(len(operation.bodies))]
OPTIONS = [
    (operation, one["name"])
    for operation in documented()
    if operation.method == "GET"
    for one in operation.openapi.get("parameters", [])
    if not one.get("required")
]
# The name in the example.
KERNEL = "with-etf"
Preparation = Callable[[Service, httpx.Client, dict[str, str]], dict[str, str]]


def _an_experiment(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    made = service.submit({"shipped": "quick", "set": ["duration=4000 s"], "priority": -10})
    return {"experiments.id": made["id"]}


def _a_waiting_experiment(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    """With more runs than run at once."""
    made = service.submit({"shipped": "quick", "set": ["duration=4000 s"], "priority": -10, "repeats": 6})
    return {"experiments.id": made["id"]}


def _cancelled(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    admin.post(f"{ROOT}/experiments/{ids['experiments.id']}/cancel")
    return {}


def _an_ended_experiment(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    made = _an_experiment(service, admin, ids)
    admin.post(f"{ROOT}/experiments/{made['experiments.id']}/cancel")
    return made


def _no_token(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    admin.delete(f"{ROOT}/tokens/ci")
    return {}


def _a_token(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    admin.post(f"{ROOT}/tokens", json={"name": "ci", "scope": "run"})
    return {}


def _a_lease(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    taken = admin.post(f"{ROOT}/hosts/{ids['hosts.id']}/lease", json={"seconds": 60})
    return {"fence": str(taken.json()["fence"])}


def _a_baseline(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    admin.put(f"{ROOT}/baselines/quick/main", json={"experiment_id": service.experiment})
    return {}


def _a_run(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    made = service.wait(service.submit({"shipped": "quick", "seed": 4711})["id"])
    return {"runs.id": made["runs"][0].rpartition("/")[2]}


def _a_share(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    return {"share": admin.post(f"{ROOT}/shares", json={"runs": [service.run]}).json()["id"]}


def _a_notification(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    """To this machine, which webhooks may not reach: the outcome of a trial says so."""
    asked = {"way": "webhook", "target": "http://localhost/hook", "events": ["experiment.finished"]}
    return {"notifications.id": admin.post(f"{ROOT}/notifications", json=asked).json()["id"]}


def _no_kernel(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    admin.delete(f"{ROOT}/kernels/{KERNEL}")
    return {}


def _a_kernel(service: Service, admin: httpx.Client, ids: dict[str, str]) -> dict[str, str]:
    admin.post(f"{ROOT}/kernels", json={"name": KERNEL, "base": "6.12"})
    return {"kernels.name": KERNEL}


def packed_source() -> bytes:
    """An archive of a control's source, compressed by xz."""
    file, text = io.BytesIO(), reno_source("packed").encode()
    with tarfile.open(fileobj=file, mode="w:xz") as archive:
        member = tarfile.TarInfo("packed/packed.c")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return file.getvalue()


# What must be created or deleted before the example of an operation works.
BEFORE: dict[str, Preparation] = {
    "cancel_experiment": _an_experiment,
    "change_experiment": _a_waiting_experiment,
    "delete_experiment": _an_ended_experiment,
    "delete_run": _a_run,
    "make_token": _no_token,
    "revoke_token": _a_token,
    "revoke_share": _a_share,
    "delete_notification": _a_notification,
    "try_notification": _a_notification,
    "give_host_back": _a_lease,
    "read_baseline": _a_baseline,
    "send_kernel": _no_kernel,
    "delete_kernel": _a_kernel,
}
# What would have work left after its response: a kernel takes minutes of all processors.
AFTER: dict[str, Preparation] = {"send_kernel": _no_kernel, "change_experiment": _cancelled}
# Bodies that name existing things.
BODIES: dict[str, Callable[[Service], dict[str, Any]]] = {
    "log_in": lambda service: {"token": service.tokens["read"]},
    "make_share": lambda service: {"runs": [service.run], "days": 1},
    "set_baseline": lambda service: {"experiment_id": service.experiment},
}
# Bodies that are files.
FILES = {"send_kernel_archive": packed(), "send_module_archive": packed_source(), "send_recording": RECORDING}


# Further query parameters of an example: a series of a flow needs the flow, one of a link another measure.
MORE_PARAMETERS = {
    "read_series": {"flow": "app"},
    "read_series link": {"measure": "queue"},
    "read_bands flow": {"measure": "cwnd"},
}


@pytest.fixture(scope="module")
def reference() -> schemathesis.schemas.BaseSchema:
    return schemathesis.openapi.from_dict(document())


@pytest.fixture(autouse=True, scope="module")
def _cancel_experiments(service: Service) -> Iterator[None]:
    """Cancel the experiments and the build of a kernel that the examples submitted."""
    yield
    with service.client() as client:
        client.delete(f"{ROOT}/kernels/{KERNEL}")
        for row in client.get(f"{ROOT}/experiments", params={"limit": 500}).json()["items"]:
            if row["status"] in ("queued", "running"):
                client.post(f"{row['href']}/cancel")


def _check(
    reference: schemathesis.schemas.BaseSchema, operation: Operation, answer: httpx.Response, token: str | None = None
) -> None:
    assert answer.status_code < 400, f"{operation.name}: {answer.status_code} {answer.text}"
    reference[operation.path][operation.method].validate_response(answer)


# The first kernel of a cache unpacks all of Linux, minutes on a busy machine.
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("operation", "body"), CASES, ids=[f"{one.name}-{body}" for one, body in CASES])
def test_an_example_conforms_to_the_reference(
    operation: Operation, body: int, service: Service, admin: httpx.Client, reference: schemathesis.schemas.BaseSchema
) -> None:
    ids = ids_of(service)
    prepare = BEFORE.get(operation.openapi["operationId"])
    ids |= prepare(service, admin, ids) if prepare else {}
    request = operation.request(admin, ids, body)
    request.url = request.url.copy_merge_params(MORE_PARAMETERS.get(operation.openapi["operationId"], {}))
    if fill := BODIES.get(operation.openapi["operationId"]):
        request = admin.build_request(operation.method, request.url, json=fill(service))
    if content := FILES.get(operation.openapi["operationId"]):
        headers = {"Content-Type": "application/octet-stream"}
        request = admin.build_request(operation.method, request.url, content=content, headers=headers)
    with contextlib.closing(admin.send(request)) as answer:
        _check(reference, operation, answer)
    if finish := AFTER.get(operation.openapi["operationId"]):
        finish(service, admin, ids)


@pytest.mark.parametrize(("operation", "name"), OPTIONS, ids=[f"{one.name}-{name}" for one, name in OPTIONS])
def test_an_example_of_an_optional_parameter_conforms_too(
    operation: Operation, name: str, service: Service, admin: httpx.Client, reference: schemathesis.schemas.BaseSchema
) -> None:
    name_of = operation.openapi["operationId"]
    parameters = MORE_PARAMETERS.get(f"{name_of} {name}", MORE_PARAMETERS.get(name_of, {}))
    request = operation.request(admin, ids_of(service), option=name)
    request.url = request.url.copy_merge_params(parameters)
    _check(reference, operation, admin.send(request))


def test_a_submission_with_a_key_is_made_once(service: Service) -> None:
    with service.client("run") as client:
        key = {"Idempotency-Key": "nightly-1"}
        first, again = (client.post(f"{ROOT}/experiments", json={"shipped": "quick"}, headers=key) for _ in range(2))
        other = client.post(f"{ROOT}/experiments", json={"shipped": "demo"}, headers=key)
    assert first.headers["location"] == again.headers["location"]
    assert (first.status_code, again.status_code) == (201, 201)
    assert other.status_code == 409
