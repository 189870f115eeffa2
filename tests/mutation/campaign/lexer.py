"""C++ as far as a draw of defects needs it: tokens, their brackets, and the bodies of functions.

It leans on the project's format (.clang-format): a binary operator has space on both sides, a template's bracket has
none before it. Nothing here understands types; what comes out wrong does not compile, and is left out of the draw.
"""

import re

TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]*)\(.*?\)(?P=delimiter)")
      |(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
      |(?P<letter>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
      |(?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
      |(?P<name>[A-Za-z_]\w*)
      |(?P<operator><=>|<<=|->\*|\.\.\.|::|->|\+\+|--|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|<<|.)""",
    re.VERBOSE | re.DOTALL,
)
OPENERS = {"(": ")", "[": "]", "{": "}"}


class Token:
    __slots__ = ("kind", "text", "start", "end", "line", "spaceBefore", "spaceAfter", "match")

    def __init__(self, kind, text, start, line, space_before):
        self.kind = kind
        self.text = text
        self.start = start
        self.end = start + len(text)
        self.line = line
        self.spaceBefore = space_before
        self.spaceAfter = False
        self.match = None  # for a bracket: the index of its partner

    def is_free(self):
        """Whether space is on both sides, as around a binary operator."""
        return self.spaceBefore and self.spaceAfter


def tokens_of(text):
    tokens = []
    place = 0
    line = 1
    space = True
    while place < len(text):
        if text[place] == "#" and (not tokens or tokens[-1].line < line):
            # A directive, with the lines that it continues on: one token, which belongs to no expression.
            end = place
            while True:
                end = text.find("\n", end)
                end = len(text) if end < 0 else end
                if end == len(text) or text[end - 1] != "\\":
                    break
                end += 1
            tokens.append(Token("directive", text[place:end], place, line, True))
        else:
            found = TOKEN.match(text, place)
            end = found.end()
            kind = found.lastgroup if found.lastgroup != "delimiter" else "raw"
            if kind == "gap":
                space = True
                if tokens:
                    tokens[-1].spaceAfter = True
            else:
                tokens.append(Token("string" if kind == "raw" else kind, found.group(), place, line, space))
                space = False
        line += text.count("\n", place, end)
        place = end
    match_brackets(tokens)
    return tokens


def match_brackets(tokens):
    open_ones = []
    for index, token in enumerate(tokens):
        if token.kind != "operator":
            continue
        before = tokens[index - 1] if index else None
        if token.text in OPENERS:
            open_ones.append(index)
        elif token.text in OPENERS.values():
            while open_ones and OPENERS.get(tokens[open_ones[-1]].text) != token.text:
                open_ones.pop()
            if open_ones:
                pair(tokens, open_ones.pop(), index)
        elif token.text == "<" and before and before.text != "operator" and (
                not token.spaceBefore or before.text == "template"):
            open_ones.append(index)
        elif token.text == ">" and open_ones and tokens[open_ones[-1]].text == "<" and not token.is_free():
            pair(tokens, open_ones.pop(), index)
        elif token.text == ";":
            while open_ones and tokens[open_ones[-1]].text == "<":
                open_ones.pop()


def pair(tokens, opener, closer):
    tokens[opener].match = closer
    tokens[closer].match = opener


class Body:
    """A function's body: the indexes of its braces, and its name."""

    def __init__(self, name, first, last, is_constant):
        self.name = name
        self.first = first
        self.last = last
        self.is_constant = is_constant  # constexpr or consteval: what a switch at run time may not be in


def bodies_of(tokens):
    found = []
    walk(tokens, 0, len(tokens), "", found)
    return found


def walk(tokens, index, end, scope, found):
    """Declarations one after the other, at namespace or class scope."""
    header = []  # the indexes of the declaration so far, without what stands in its brackets
    while index < end:
        token = tokens[index]
        if token.text == "{" and token.match is not None:
            words = [tokens[place].text for place in header]
            if "namespace" in words or words == ["extern", '"C"']:
                walk(tokens, index + 1, token.match, scope, found)
                header = []
            elif "enum" in words:
                header = []
            elif {"class", "struct", "union"} & set(words) and "(" not in words:
                walk(tokens, index + 1, token.match, class_name(words) + "::", found)
                header = []
            elif is_body(words):
                found.append(Body(scope + function_name(words), index, token.match,
                                  bool({"constexpr", "consteval"} & set(words))))
                header = []
            else:
                header.append(token.match)
            index = token.match + 1
            continue
        if token.text == ";" or token.text == ":" and header and tokens[header[-1]].text in (
                "public", "protected", "private"):
            header = []
        elif token.kind != "directive":
            header.append(index)
            if token.text in ("(", "[", "<") and token.match is not None:
                index = token.match
        index += 1


def is_body(words):
    """Whether the brace after this header opens a function's body, and no initialiser."""
    if "(" not in words or "=" in words and "operator" not in words:
        return False
    # Members of a constructor that are initialised with braces come after a name, its body after a bracket.
    return ":" not in words[words.index("("):] or words[-1] in ("(", "}")


def class_name(words):
    place = max(words.index(word) for word in ("class", "struct", "union") if word in words)
    # Before the name there may be an attribute's macro.
    names = [word for word in words[place + 1:]
             if word.isidentifier() and word != "final" and not word.startswith("ACKBOX_")]
    return names[0] if names else ""


def function_name(words):
    place = words.index("(")
    if "operator" in words[:place]:
        first = words.index("operator")
    else:
        first = place - 1
    while first >= 2 and words[first - 1] == "::":
        first -= 2
    if first >= 1 and words[first - 1] == "~":
        first -= 1
    return "".join(words[first:place])
