"""The experts of counsel: each profile is whole, and together they cover every topic with different
voices."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from loopkit.core.request import aspects
from loopkit.core.request.aspects import ASPECTS
from loopkit.core.request.topics import TOPICS
from loopkit.core.review import panel
from loopkit.store import profiles
from tests.plugin.bundle import PLUGINS, PROFILES, ROOT, split

KEYS = {"name", "title", "viewpoint", "asks", "evidence", "blind_spots", "depth", "core", "current"}
#: Fewest and most topics in each list.
TOPIC_LISTS = {"depth": (1, 3), "core": (2, 4), "current": (1, 3)}
#: Characters at most: a file, a viewpoint, a question.
FILE, VIEWPOINT, QUESTION = 1200, 100, 110
#: Experts at least, and the share of words in common above which two questions are the same one.
EXPERTS, OVERLAP = 24, 0.6
EXPERTS_READ = profiles.read(str(ROOT))


@pytest.fixture(params=PROFILES, ids=lambda path: path.stem)
def path(request):
    return request.param


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def known(expert) -> set[str]:
    return {*expert.depth, *expert.core, *expert.current}


def names_somebody(text: str) -> list[str]:
    """Neighbouring words with a capital, the first word of a sentence left out: what a person's
    name looks like."""
    text = re.sub(
        r"(^|[.:?!]\s+)([\"'(]?)\w", lambda found: found.group(0).lower(), " ".join(text.split())
    )
    return re.findall(r"\b[A-Z]\w+ [A-Z]\w+", text)


def too_alike(one: str, other: str) -> bool:
    return len(words(one) & words(other)) > OVERLAP * min(len(words(one)), len(words(other)))


def test_the_check_for_names_and_the_check_for_questions_see_something():
    assert names_somebody("As the famous Jane Smith says.") == ["Jane Smith"]
    assert not names_somebody("Contract first. Looks at names: Then at errors.")
    assert too_alike(
        "What can be left out without losing a criterion?",
        "What may be left out, without a criterion?",
    )


def test_there_are_enough_experts_and_the_program_reads_them_all():
    assert len(EXPERTS_READ) == len(PROFILES) >= EXPERTS
    assert (
        len({one.title for one in EXPERTS_READ})
        == len({one.viewpoint for one in EXPERTS_READ})
        == len(PROFILES)
    )


def test_a_profile_is_whole(path):
    meta, body = split(path)
    assert set(meta) == KEYS
    assert meta["name"] == path.stem and re.fullmatch(r"[a-z]+(-[a-z]+)*", path.stem)
    for key in KEYS - {"asks", *TOPIC_LISTS}:
        assert isinstance(meta[key], str) and meta[key].strip(), key
    assert 2 <= len(body.strip().split("\n")) <= 4


def test_a_profile_is_short(path):
    meta, _ = split(path)
    text = path.read_text(encoding="utf-8")
    assert len(text) <= FILE
    assert max(map(len, text.split("\n"))) <= 120
    assert len(meta["viewpoint"]) <= VIEWPOINT


def test_questions_are_questions(path):
    asks = split(path)[0]["asks"]
    assert isinstance(asks, list) and 3 <= len(asks) <= 4
    for question in asks:
        assert isinstance(question, str) and question.endswith("?") and len(question) <= QUESTION, (
            question
        )


def test_topics_are_known_and_each_stands_in_one_list(path):
    meta, _ = split(path)
    for key, (least, most) in TOPIC_LISTS.items():
        assert isinstance(meta[key], list) and least <= len(meta[key]) <= most, key
    topics = [topic for key in TOPIC_LISTS for topic in meta[key]]
    assert len(topics) == len(set(topics))
    assert set(topics) <= set(TOPICS)


def test_a_profile_is_a_role_and_no_person(path):
    meta, body = split(path)
    for text in (
        meta["title"],
        meta["viewpoint"],
        meta["evidence"],
        meta["blind_spots"],
        *meta["asks"],
        body,
    ):
        assert not names_somebody(text), text


def test_no_two_questions_are_alike():
    asked = [(one.name, question) for one in EXPERTS_READ for question in one.asks]
    alike = [pair for pair in itertools.combinations(asked, 2) if too_alike(pair[0][1], pair[1][1])]
    assert not alike


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_has_a_panel_that_is_led_by_depth_and_has_no_weak_member(topic):
    assert sum(topic in one.depth for one in EXPERTS_READ) >= (2 if topic in ASPECTS else 1)
    chosen = panel.choose(EXPERTS_READ, [topic], 3)
    assert topic in chosen[0].depth
    assert all(topic in known(one) for one in chosen)
    assert len({one.asks[0] for one in chosen}) == 3


def test_any_two_topics_have_a_panel_that_knows_both():
    pairs = random.Random(3).sample(list(itertools.combinations(TOPICS, 2)), 30)
    for pair in pairs:
        chosen = panel.choose(EXPERTS_READ, list(pair), 3)
        assert len({one.asks[0] for one in chosen}) == 3, pair
        assert set(pair) <= set().union(*map(known, chosen)), pair
        assert set(pair) & set(chosen[0].depth), pair


@pytest.mark.parametrize("aspect", aspects.ASPECTS.values(), ids=lambda aspect: aspect.name)
def test_the_anchor_of_an_aspect_knows_it_in_depth(aspect):
    anchor = next(one for one in EXPERTS_READ if one.name == aspect.anchor)
    assert aspect.name in anchor.depth


def test_nobody_is_there_for_nothing():
    heard = {
        one.name
        for size in (1, 2)
        for topics in itertools.combinations(TOPICS, size)
        for one in panel.choose(EXPERTS_READ, list(topics), 3)
    }
    assert heard == {one.name for one in EXPERTS_READ}


def test_the_readme_of_counsel_lists_them_all_as_they_are():
    text = (PLUGINS["counsel"] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+?)\]\(profiles/(.+?)\.md\) \| (.+?) \| (.+?) \|$", text, re.M)
    assert rows == [
        (one.title, one.name, ", ".join(one.depth), one.asks[0]) for one in EXPERTS_READ
    ]
