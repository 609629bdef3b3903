from __future__ import annotations

import pytest

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.service.label_studio import config as config_module
from vse_ens.service.label_studio.config import controls

KNOWN = Vocabulary.from_ids(["sea", "Online/UGC", "NY Times", "Male", "other"], "label")

# An interface around tags for the image i.
VIEW, END = '<View><Image name="i" value="$x"/>', "</View>"


def test_choices_are_found_with_the_field_of_the_image() -> None:
    # The example of the published page about Choices, and an image.
    config = """
    <View>
      <Choices name="gender" toName="img" choice="single-radio">
        <Choice alias="M" value="Male" /><Choice alias="F" value="Female" />
      </Choices>
      <View>
        <Choices name="many" toName="img" choice="multiple"><Choice value="Sea"/><Choice value=" "/></Choices>
      </View>
      <Image name="img" value="$photo" />
    </View><!-- {"data": {"photo": "x"}} -->"""
    gender, many = controls(config)
    assert (gender.kind, gender.name, gender.to_name, gender.variable) == ("choices", "gender", "img", "photo")
    assert [choice.path for choice in gender.choices] == [("M",), ("F",)]  # a result says the alias
    assert list(gender.labels(KNOWN)) == ["Male", "Female"]
    assert (gender.top, many.top) == (1, 5)
    assert list(many.labels(KNOWN)) == ["sea"]  # written with a capital in the interface


TAXONOMY = """
<View>
  <Taxonomy name="media" toName="text">
    <Choice value="Online">
      <Choice value="UGC" />
      <Choice value="Free" />
      <Choice value="Paywall"><Choice value="NY Times" /><Choice value="The Wall Street Journal" /></Choice>
    </Choice>
    <Choice value="Offline" />
  </Taxonomy>
  <Text name="text" value="$text" />
</View>"""


def test_a_taxonomy_has_paths() -> None:
    [media] = controls(TAXONOMY)
    assert {label: choice.path for label, choice in media.labels(KNOWN).items()} == {
        "Online": ("Online",),
        "Online/UGC": ("Online", "UGC"),  # the model has it by its full path
        "Free": ("Online", "Free"),
        "Paywall": ("Online", "Paywall"),
        "NY Times": ("Online", "Paywall", "NY Times"),  # and this one by its own name
        "The Wall Street Journal": ("Online", "Paywall", "The Wall Street Journal"),
        "Offline": ("Offline",),
    }
    [leaves] = controls(TAXONOMY.replace('toName="text"', 'toName="text" leafsOnly="true" maxUsages="2"'))
    assert len(leaves.choices) == 5
    assert leaves.top == 2


def test_tags_that_choose_nothing_for_a_whole_image_are_skipped() -> None:
    for config in (
        "<View></View>",
        '<View><Image name="i" value="$x"/><Labels name="l" toName="i"><Label value="sea"/></Labels></View>',
        '<View><Image name="i" value="$x"/><Choices name="c" toName="i" perRegion="true"/></View>',
        '<View><Choices name="c" toName="nothing"/></View>',
        '<View><Image name="i" value="$x"/><Choices toName="i"><Choice value="sea"/></Choices></View>',
        '<View><Text name="t" value="said here"/><Choices name="c" toName="t"/></View>',
    ):
        assert controls(config) == ()


def test_how_sure_a_tick_must_be_is_said_in_the_interface() -> None:
    config = '<View><Image name="i" value="$x"/><Choices name="c" toName="i" model_score_threshold="{}"/></View>'
    assert controls(config.format("0.3"))[0].min_confidence == 0.3
    assert controls(config.replace("model_score_threshold", "other"))[0].min_confidence is None
    for wrong in ("nan", "-1", "much"):
        with pytest.raises(ConfigError, match=f"model_score_threshold='{wrong}'; it must be a number >= 0"):
            controls(config.format(wrong))


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("", "not well-formed XML: no element found"),
        ("<View", "not well-formed XML"),
        ("<View>&lol;</View>", "not well-formed XML: undefined entity"),
        ('<!DOCTYPE v [<!ENTITY a "aaaa">]><View>&a;</View>', "declares a document type; remove the declaration"),
        ('<!DOCTYPE v SYSTEM "file:///etc/passwd"><View/>', "declares a document type; remove the declaration"),
        ("<View>" + " " * 1_000_000 + "</View>", "longer than 1,000,000 characters; make it shorter"),
        (
            "<View><Taxonomy name='t' toName='i'>" + "<Choice value='x'>" * 60 + "</Choice>" * 60 + "</Taxonomy>"
            "<Image name='i' value='$x'/></View>",
            "more than 50 levels deep",
        ),
        (
            VIEW + "".join(f'<Choices name="c{number}" toName="i">' for number in range(21)) + "</Choices>" * 21 + END,
            "has more than 20 tags with choices; use fewer",
        ),
        (
            VIEW
            + "".join(f'<Choices name="c{number}" toName="i">' for number in range(20))
            # Of each tag around it, a choice is one more.
            + '<Choice value="v"/>' * 1_001
            + "</Choices>" * 20
            + END,
            "has more than 20,000 choices; use fewer",
        ),
        (VIEW + f'<Choices name="c" toName="i"><Choice value="{"v" * 1_001}"/></Choices>' + END, "has a choice longer"),
        (
            VIEW + f'<Taxonomy name="c" toName="i"><Choice value="v" alias="{"v" * 1_001}"/></Taxonomy>' + END,
            "has a choice longer than 1,000 characters; shorten it",
        ),
        (
            VIEW
            + f'<Taxonomy name="c" toName="i" pathSeparator="{"/" * 500}">'
            + '<Choice value="v">' * 3
            + "</Choice>" * 3
            + "</Taxonomy>"
            + END,
            "has a path of choices longer than 1,000 characters; shorten it",
        ),
        (VIEW + f'<Choices name="{"c" * 1_001}" toName="i"/>' + END, "has a name longer than 1,000 characters"),
    ],
)
def test_an_invalid_interface_is_refused(config: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"the labeling interface .*{sentence}"):
        controls(config)


def test_an_interface_within_the_limits_is_taken() -> None:
    tags = "".join(f'<Choices name="c{number}" toName="i">' for number in range(20))
    config = VIEW + tags + '<Choice value="v"/>' * 1_000 + "</Choices>" * 20 + END
    assert [len(control.choices) for control in controls(config)] == [1_000] * 20
    [taxonomy] = controls(
        VIEW + f'<Taxonomy name="{"c" * 1_000}" toName="i" pathSeparator="{"/" * 498}"><Choice value="{"v" * 500}">'
        '<Choice value="w"/><Choice value="xy"/></Choice></Taxonomy>' + END
    )
    assert [len(choice.names[0]) for choice in taxonomy.choices] == [500, 999, 1_000]


def test_tags_in_tags_without_end_do_no_harm() -> None:
    assert controls("<a>" * 140_000 + "</a>" * 140_000) == ()


def test_the_first_label_of_a_model_is_known_like_any_other() -> None:
    [control] = controls(VIEW + '<Choices name="c" toName="i"><Choice alias="A" value="B"/></Choices>' + END)
    assert list(control.labels(Vocabulary.from_ids(["A", "z"], "label"))) == ["A"]
    assert list(control.labels(Vocabulary.from_ids(["z"], "label"))) == ["B"]


def test_only_the_blank_choice_of_a_taxonomy_is_skipped() -> None:
    listed = '<Choice value="a"/><Choice value=" "><Choice value="hidden"/></Choice><Choice value="b"/>'
    [control] = controls(VIEW + f'<Taxonomy name="c" toName="i" maxUsages="1">{listed}</Taxonomy>' + END)
    assert [choice.path for choice in control.choices] == [("a",), ("b",)]
    assert control.top == 1


@pytest.mark.parametrize(("usages", "top"), [("0.5", 1), ("1", 1), ("2.9", 2), ("7", 5), ("0", 5)])
def test_as_many_suggestions_are_ticked_as_the_interface_allows(usages: str, top: int) -> None:
    [control] = controls(VIEW + f'<Taxonomy name="c" toName="i" maxUsages="{usages}"/>' + END)
    assert control.top == top


def test_an_interface_at_its_limits_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = VIEW + '<Taxonomy name="c" toName="i">{}{}</Taxonomy>' + END
    [control] = controls(nested.format('<Choice value="v">' * 50, "</Choice>" * 50))
    assert len(control.choices) == 50
    with pytest.raises(ConfigError, match="more than 50 levels deep"):
        controls(nested.format('<Choice value="v">' * 51, "</Choice>" * 51))
    exact = VIEW + "<!-- exactly as long as it may be -->" + END
    monkeypatch.setattr(config_module, "MAX_CONFIG_LENGTH", len(exact))
    assert controls(exact) == ()
    with pytest.raises(ConfigError, match="is longer than"):
        controls(exact + " ")
