"""Topics that requests, tasks and expert profiles share: the twelve aspects of a shape, and what
goes across them."""

from __future__ import annotations

import re
import unicodedata

#: The aspects of a shape (rule: Shape), then the topics that go across them.
TOPICS = (
    "data",
    "api",
    "ui",
    "auth",
    "performance",
    "error",
    "testing",
    "migration",
    "integration",
    "deployment",
    "observability",
    "documentation",
    "debugging",
    "simplicity",
    "refactoring",
    "concurrency",
    "distribution",
    "data-modelling",
    "release",
    "security",
    "privacy",
    "accessibility",
    "localisation",
    "dependencies",
    "compatibility",
    "command-line",
    "configuration",
    "cost",
    "statistics",
    "types",
    "requirements",
)
ASPECT_COUNT = 12

#: Words that name a topic, beside its own name: whole words, `…*` for a beginning, and words of
#: other languages than English that developers write requests in. Letters with accents stand
#: without them.
_WORDS = {
    "data": "database databases db sql sqlite postgres mysql table tables schema query queries "
    "csv json parquet dataset record records datenbank daten donnees datos 数据 データ",
    "api": "apis endpoint endpoints rest graphql grpc rpc http route routes handler webhook "
    "webhooks request requests "
    "status-code openapi schnittstelle 接口",
    "ui": "button buttons form forms page pages screen screens css html component components "
    "dialog modal layout "
    "frontend front-end react vue svelte menu theme tooltip seite oberflache ecran pantalla "
    "画面 页面",
    "auth": "authenti* authori* login logins passkey passkeys password passwords token tokens "
    "oauth oidc jwt "
    "session sessions permission permissions role roles sso 2fa mfa anmeldung passwort connexion "
    "mot-de-passe "
    "contrasena ログイン 登录 认证",
    "performance": "fast faster slow slower speed speedup latency memory throughput optimi* "
    "benchmark benchmarks cache "
    "caching cached p95 p99 n+1 schnell schneller langsam langsame performant lent rapide lenta "
    "rapido 遅い 性能",
    "error": "errors exception exceptions crash crashes crashed failure failures retry retries "
    "timeout timeouts "
    "traceback stacktrace panic invalid malformed fehler fehlerhaft absturz erreur erreurs "
    "errores エラー 错误",
    "testing": "test tests tested pytest unittest jest vitest rspec phpunit junit coverage "
    "fixture fixtures e2e "
    "testen pruebas essais テスト 测试",
    "migration": "migrat* migrier* upgrade upgrades upgrading port porting move-to convert "
    "conversion backfill migrer migrar "
    "umstellung umstellen 移行 迁移",
    "integration": "integrat* third-party stripe slack s3 smtp email e-mail webhook webhooks "
    "kafka queue rabbitmq "
    "sync connector exporter importer",
    "deployment": "deploy* docker dockerfile container containers kubernetes k8s helm terraform "
    "ci pipeline pipelines "
    "rollout staging production ausrollen 部署",
    "observability": "log logs logging metric metrics trace traces tracing monitor monitoring "
    "alert alerts dashboard "
    "telemetry opentelemetry prometheus protokoll 日志",
    "documentation": "docs doc document documents documented readme docstring docstrings "
    "changelog guide tutorial manual "
    "dokumentation dokumentieren documentacion documentation 文档 ドキュメント",
    "debugging": "debug bug bugs broken flaky regression bisect wrong race-condition deadlock leak",
    "simplicity": "simplify simple simpler dead-code unused",
    "refactoring": "refactor* rename renames renaming extract restructur* dedupe deduplicate "
    "cleanup clean-up duplication "
    "legacy umbenennen aufraumen",
    "concurrency": "concurren* parallel thread threads threading race races lock locks locking "
    "async await mutex "
    "goroutine goroutines deadlock atomic",
    "distribution": "distributed cluster replica replicas replication sharding shard consensus "
    "eventual microservice "
    "microservices idempoten* queue kafka",
    "data-modelling": "schema schemas model models entity entities normali* foreign-key index "
    "indexes constraint",
    "release": "releases version versions versioning changelog semver publish rollout tag",
    "security": "secure vulnerab* xss csrf injection sanitize sanitise escape escaping secret "
    "secrets encrypt* tls cve "
    "sicherheit securite seguridad 安全",
    "privacy": "private gdpr pii personal consent retention anonymi* datenschutz",
    "accessibility": "accessible a11y aria keyboard screen-reader wcag contrast barrierefrei*",
    "localisation": "localization locali* i18n l10n translation translations translate locale "
    "locales timezone timezones "
    "unicode utf-8 ubersetz* traduction",
    "dependencies": "dependency package packages library libraries vendor lockfile lock-file "
    "upgrade",
    "compatibility": "compatible backward backwards deprecat* legacy windows macos python2 "
    "polyfill older",
    "command-line": "cli command flag flags option options terminal argparse click stdin stdout "
    "subcommand exit-code",
    "configuration": "config configs configure settings setting environment env toml yaml ini "
    "feature-flag",
    "cost": "costs cheap cheaper expensive budget billing spend invoice",
    "statistics": "statistic* regression-model mean median percentile percentiles sampling "
    "probability machine-learning ml "
    "training numpy pandas model-accuracy",
    "types": "type typed typing mypy pyright typescript generics nullable null none-safety",
    "requirements": "requirement stakeholder stakeholders user-story acceptance",
}


def _plain(text: str) -> str:
    """Small letters without accents."""
    return "".join(
        one for one in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(one)
    )


_EXACT: dict[str, list[str]] = {}
_BEGINNINGS: list[tuple[str, str]] = []
_INSIDE: list[tuple[str, str]] = []
for _topic in TOPICS:
    for _word in (_topic, *_WORDS[_topic].split()):
        if not _word.isascii():
            _INSIDE.append((_plain(_word), _topic))
        elif _word.endswith("*"):
            _BEGINNINGS.append((_word[:-1], _topic))
        else:
            _EXACT.setdefault(_word, []).append(_topic)


def mentions(text: str) -> dict[str, list[int]]:
    """{topic: where the text names it}: a place is the number of the word, 0-based. In the order of
    TOPICS.

    A word counts whole (`rapid` names no api), without accents and without the s of a plural; in
    scripts without blanks between words it counts wherever it stands.
    """
    plain = re.sub(r"\b(?:log|sign)[ -](?:in|on|up)\b", "login", _plain(text))
    words = re.findall(r"[a-z0-9]+(?:[-+.][a-z0-9]+)*", plain)
    found: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        for topic in _topics_of(word):
            found.setdefault(topic, []).append(place)
    for word, topic in _INSIDE:
        if word in plain:
            found.setdefault(topic, []).append(plain.index(word))
    return {topic: sorted(found[topic]) for topic in TOPICS if topic in found}


def _topics_of(word: str) -> list[str]:
    parts = [word, *(re.split("[-.]", word) if "-" in word or "." in word else ())]
    found: dict[str, None] = {}
    for part in parts:
        for form in (part, part[:-1] if part.endswith("s") else part):
            found.update(dict.fromkeys(_EXACT.get(form, ())))
        found.update((topic, None) for start, topic in _BEGINNINGS if part.startswith(start))
    return list(found)


def topics_in(text: str, *always: str) -> list:
    """The topics that a text names, in the order of TOPICS, after those that are always meant."""
    return list(dict.fromkeys([*always, *mentions(text)]))
