"""A pytest plugin: a line for each test in the file that VERDICTS names."""

import os
import signal

import pytest

# Seconds. The longest takes five on MySQL; one that waits for ever must not stop all the others.
LIMIT = 60
RANK = {"passed": 0, "skipped": 1, "failed": 2}
worst = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Ends a test that takes too long, as far as a signal can."""

    def too_long(*_):
        raise TimeoutError(f"{item.nodeid} takes longer than {LIMIT} s")

    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, LIMIT, LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    """A test is as good as the worst of its setup, its call and its teardown."""
    verdict = report.outcome
    if RANK[verdict] >= RANK[worst.get(report.nodeid, "passed")]:
        worst[report.nodeid] = verdict


def pytest_sessionfinish():
    with open(os.environ["VERDICTS"], "w", encoding="utf-8") as verdicts:
        for name, verdict in worst.items():
            print(verdict, name.encode("unicode_escape").decode(), file=verdicts)
