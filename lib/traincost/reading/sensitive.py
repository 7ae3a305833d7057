"""Tell what must not be published: secrets, persons and machines, by a setting's name or a text's shape.

Contract: text in, decisions out; nothing is replaced here (`redaction` does). A name decides where
it says what stands under it (``api_key``, ``user``, ``hostname``); names that only sound alike
(``tokenizer``, ``key_dim``, ``pad_token``) do not. What has the shape of a secret is one under any
name. Providers' prefixes are those that gitleaks and detect-secrets look for.
"""

import re
from typing import NamedTuple


def vocabulary(text):
    """Return the set of the words of a text."""
    return frozenset(text.split())


SECRET, USER, HOST = "withheld", "user", "host"

# One word of a name, in any joining: camelCase, snake_case, kebab-case, dotted.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PART = re.compile(r"(?<!\\)\.")  # between the parts of a dotted path; a key's own dot is escaped
_JOINED = re.compile(
    r"(api|access|secret|private|priv|auth|ssh|client|session|encryption|license|account|aws|hf|wandb|openai)"
    r"(key|id)s?(id)?|([a-z0-9]+?)(token|secret|password|passwd|passphrase|credential)s?"
)
_PASSWORDS = vocabulary("password passwords passwd passphrase passcode pswd pwd pass pw")
_SECRETS = _PASSWORDS | vocabulary(
    "secret secrets credential credentials cred creds authorization bearer cookie cookies jwt otp totp "
    "webhook csrf xsrf netrc passkey privkey"
)
_CONTAINERS = vocabulary("secret secrets credential credentials creds passwords")
# The last word of a name that speaks about a secret and does not hold it.
_ABOUT = vocabulary(
    "env var variable name names file filename path dir folder type kind class format length len size dim "
    "dims count weight loss ratio rate prob limit min max num mode policy algorithm method strategy enabled "
    "required expiry expires ttl timeout scope scopes header prefix suffix column field index idx position "
    "embedding projection proj layer layers mask pooling"
)
_AUTHS = vocabulary("auth oauth authentication")
_SECRET_ENDS = _AUTHS | vocabulary("session pat sas")
_REGISTRY = re.compile(r"(^|\.)@\w+$")  # the name of a class in a registry
_EMPTY_ENDS = vocabulary("id ids value values string str text raw plain hex base64 b64")
_OF_SECRETS = vocabulary(
    "api access secret private priv encryption decryption signing license licence ssh gpg rsa master "
    "account storage subscription deploy service security client consumer admin auth app write ingest "
    "wandb openai hf huggingface anthropic aws azure gcp google gemini github gitlab slack comet neptune "
    "databricks kaggle cohere mistral groq ngc nvidia replicate together runpod sentry datadog stripe "
    "twilio mailgun sendgrid minio s3 session shared"
)
_OF_TEXT = vocabulary(
    "pad padding eos bos unk sep separator cls mask special additional image img audio video vision speech "
    "start end stop begin first last next new max min per num n prompt lang language src tgt source target "
    "decoder encoder forced extra sub word char byte text sentinel blank newline boundary speaker role "
    "control task image placeholder"
)
_PASSES = vocabulary("forward backward single two multi train eval first second per num low high band")
_AUTH_METHODS = vocabulary(
    "basic oauth oauth2 kerberos token digest bearer ntlm iam ldap sasl gssapi password trust jwt"
)
_USERS = vocabulary(
    "user users username usernames login logname owner author creator email emails mail account maintainer "
    "person submitter assignee nickname fullname firstname lastname surname userid entity"
)
_OF_USERS = _USERS | vocabulary("created submitted started launched trained run owned")
_HOSTS = vocabulary(
    "host hosts hostname hostnames hostlist node nodename nodelist machine computer fqdn ip ips ipaddr "
    "ipaddress addr address endpoint"
)
_NO_HOST = re.compile(
    r"(localhost|host|127\.0\.0\.1|0\.0\.0\.0|::1?|\[::1?\])(:\d+)?|\*|local|x86_64|amd64|aarch64|arm64|i[36]86",
    re.IGNORECASE,
)
_SUSPICIOUS = vocabulary(
    "key keys token tokens auth oauth sig signature session license licence nonce cert certificate pat sas"
)

_NUMBER = r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_NUMBERS = re.compile(rf"[\[(]*+\s*+{_NUMBER}(?:[\])]*+(?:\s*+[,;:x]\s*+|\s++)[\[(]*+{_NUMBER})*+\s*+[\])]*+")
_NOTHING = vocabulary(
    "none null nil nan true false yes no on off auto default unset empty missing n/a na redacted hidden"
)
# A special token of a tokenizer, a reference to where a value stands, or stars in its place.
_STAND_IN = re.compile(
    r"<[|/]?[A-Za-z_ ]+\d*\|?>|\[[A-Z_]+\d*\]|[^\w]*|\$\{[\w.:]+\}|\$[A-Z][A-Z0-9_]*|%\(\w+\)s"
    r"|\{\{ ?[\w.]+ ?\}\}"
)
_CHUNK = re.compile(r"[A-Za-z0-9]{8,}")
_CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_WANDB_KEY = re.compile(r"[0-9a-f]{40}")


class Named(NamedTuple):
    """What a setting's name says of its value."""

    kind: str  # `SECRET`, `USER` or `HOST`; or empty: only the shape of the value tells
    is_sure: bool  # False where the value must look random too, as under ``sort_key``
    last: str  # the word that decided
    is_wandbs: bool  # whether W&B is named, whose keys look like a commit's hash


def words(name):
    """Return the lower-case words of a name.

    >>> words("wandbAPIKey"), words("hub-token.apikey")
    (['wandb', 'api', 'key'], ['hub', 'token', 'api', 'key'])
    """
    found = []
    for word in map(str.lower, _WORD.findall(name)):
        joined = _JOINED.fullmatch(word)
        found += [part for part in joined.groups() if part] if joined else [word]
    return found


def named(name):
    """Return what a dotted path says of its value, as `Named`."""
    *above, last = map(words, _PART.split(name))
    around = above[-1] if above else []
    while len(last) > 1 and (last[-1] in _EMPTY_ENDS or last[-1].isdigit()):
        last.pop()
    if not last or _REGISTRY.search(name):
        return Named("", False, "", False)
    is_inside = any(not _CONTAINERS.isdisjoint(part) for part in above) and last[-1] not in _ABOUT
    kind = SECRET if is_inside or _is_secret(last, around) else _of_who_or_where(last, around)
    is_suspicious = not kind and not _SUSPICIOUS.isdisjoint([*around, *last])
    is_wandbs = "wandb" in last or "wandb" in around
    return Named(SECRET if is_suspicious else kind, not is_suspicious, last[-1], is_wandbs)


def _is_secret(own, around):
    *before, last = own
    around = {*around, *before}
    if last in _ABOUT:
        return False
    if last in ("key", "keys", "tokens"):
        return not _OF_SECRETS.isdisjoint(around)
    if last == "token":
        return _OF_TEXT.isdisjoint(around)
    if last == "pass":
        return _PASSES.isdisjoint(around)
    return last in _SECRET_ENDS or not _SECRETS.isdisjoint(own)


def _of_who_or_where(own, around):
    """Return `USER` or `HOST` where the words of a name tell of one, else empty text."""
    *before, last = own
    subject = ([*around, *own][-2:-1] or [""])[0] if last in ("name", "list", "id") else last
    if subject in _USERS or (last in ("by", "address") and not _OF_USERS.isdisjoint(before)):
        return USER
    return HOST if subject in _HOSTS or (own[0] == "ssh" and last in ("client", "connection")) else ""


def is_withheld(name, value):
    """Say whether a text is withheld under what `named` returns of its name."""
    if not name.kind or not name.is_sure:
        return looks_random(value) if name.kind else name.is_wandbs and bool(_WANDB_KEY.fullmatch(value))
    if value.lower() in _NOTHING or _STAND_IN.fullmatch(value):
        return False
    if _NUMBERS.fullmatch(value):
        return name.last in _PASSWORDS
    if name.kind != SECRET:
        return "://" not in value and (name.kind == USER or is_host(value))
    is_directory = name.last == "pwd" and value.startswith(("/", "~"))  # the shell's working directory
    return not is_directory and not (name.last in _AUTHS and value.lower() in _AUTH_METHODS)


def looks_random(text):
    """Say whether a text holds eight or more letters and digits that change as no word's do.

    >>> looks_random("a8f3k2x9"), looks_random("resnet50-imagenet21k")
    (True, False)
    """
    return any(len(_CHANGE.findall(c)) >= max(2, len(c) / 4) for c in _CHUNK.findall(text))


def is_host(text):
    """Say whether a name may be a machine's, not one that all of them have."""
    return not _NO_HOST.fullmatch(text)


def may_hold_token(text):
    """Say whether `TOKEN` may find something in a text: a quick look before the long one."""
    return bool(_LONG.search(text)) or "Bearer" in text or "Basic" in text


# -- shapes --------------------------------------------------------------------------------

_B = r"(?<![A-Za-z0-9])"
TOKEN = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)"
    rf"|{_B}(?:"
    r"hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}"
    r"|sk-(?=[\w-]{0,64}\d)[\w-]{16,}|[rsp]k_(?:live|test)_\w{10,}|gsk_\w{20,}|xai-\w{20,}|r8_\w{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|gl(?:pat|dt|rt|cbt|ptt)-[\w-]{16,}"
    r"|(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA)[A-Z0-9]{12,}|LTAI[A-Za-z0-9]{12,}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{10,}|GOCSPX-[\w-]{16,}"
    r"|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}"
    r"|eyJ[\w-]{8,999}\.[\w-]{8,}(?:\.[\w-]*)?|eyJ[A-Za-z0-9+/_-]{30,}=*"
    r"|SG\.[\w-]{16,}\.[\w-]{16,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|dckr_pat_[\w-]{16,}"
    r"|dapi[0-9a-f]{32}|nvapi-[\w-]{20,}|hvs\.\w{20,}|tskey-[\w-]{16,}|lsv2_[\w-]{20,}|shp(?:at|ss|ca|pa)_\w{20,}"
    r"|wandb_v\d_\w{16,}|local-[0-9a-f]{40}|pplx-\w{20,}|tvly-[\w-]{16,}|key-[0-9a-f]{32}"
    r"|\d{8,10}:AA[\w-]{30,}"
    r"|hooks\.slack\.com/(?:services|workflows)/[\w/-]+|discord(?:app)?\.com/api/webhooks/[\w/-]+"
    r"|Bearer\s+[\w.~+/=-]{12,}|Basic\s+(?=[A-Za-z+/]{0,64}[\d=])[A-Za-z0-9+/]{12,}=*"
    r")"
)
_LONG = re.compile(r"[A-Za-z0-9_.\-]{12}")
USERINFO = re.compile(
    r"(?<=://)(?!git@)(?:[^\s/?#‹]{1,999}|[^\s/@:?#‹]{1,99}:(?!\d{1,5}/)[^\s@‹]{1,99})(?=@)"
)
EMAIL = re.compile(
    r"(?<![\w.+%-])(?!git@)[\w.+%-]+@[A-Za-z0-9-]+(?:\\?\.[A-Za-z0-9-]+)*\\?\.[A-Za-z]{2,}(?![\w])"
)
# As ssh, scp and rsync write it.
LOGIN = re.compile(r"(?<![\w.@/-])(?!git@)([a-z_][\w.-]*)@([A-Za-z0-9][\w.-]*)(?=:[/~.\w])")
_NAME = r"[^/\\\s'\",;:()\[\]{}<>|&=?#*$‹]+"
HOME = re.compile(
    rf"(?:(?<![\w.~/\\-])|(?<=file://))/(?:home|homes|Users|users)/({_NAME})"
    r"|(?<![A-Za-z0-9])[A-Za-z]:[\\/]+Users[\\/]+([^\\/:*?\"<>|\r\n]+)"
    r"|(?<![\w.~/\\-])/(root)(?![\w.-])"
    r"|(?<![\w.~/\\-])~([A-Za-z_][\w.-]*)(?=/|$)"
)
# Further down a path: only the name of the person goes.
DEEP_HOME = re.compile(rf"(?<![\w.~-])((?:/[\w.+-]+)+/(?:home|homes|Users|users|user)(?:/[a-z])?/)({_NAME})")
# Names of files that begin or end with the machine's: TensorBoard's events, the profiler's traces.
HOST_FILE = re.compile(
    r"(?<=\btfevents\.)(\d+\.)([\w.-]+?)(?=(?:\.\d+){0,2}(?:\.v2|\.profile-empty)?(?:[/\s]|$))"
    r"|(?<![^/\s])()([\w.-]+?)(?=_\d+\.\d+\.pt\.trace\.json)"
)
# A name and what joins it to a value, in a query, a command line, JSON or a connection string.
PAIR = re.compile(
    r"(?<![\w.-])(?:-{0,2}([A-Za-z_][\w.-]{1,63})(\\?[\"']?\s{0,2}(?::=|=>|=|:)\s{0,2})"
    r"|--([A-Za-z][\w.-]{1,63})[\"']?,?\s{1,2}(?!-))"
)
VALUE = re.compile(
    r"\\\"(.*?)\\\"|\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'|(\[[^\[\]]*\])"
    r"|((?:(?:Bearer|Basic|Token|token)\s+)?[^\s,;&\"'|}\])]{1,400})"
)
REST = re.compile(r"[^\s,;&\"'|}\])]*")  # of a longer value without quotes
