"""Where a defect can be planted in a source, and what the source says with it.

A site is a piece of a function's body with two readings: what is written there, and the defect. `parts` spells both
out: text that is written as it is (ASK stands for the question whether this defect is chosen), and pieces (start, end,
is_flat) of the source, which may hold further sites. A flat piece is put on one line, so that no line moves.
"""

import dataclasses
import re

import lexer

ASK = "\1"

# In the order and with the shares of a draw.
SHARES = {"relation": 4, "boundary": 3, "condition": 4, "statement": 4, "undo": 3, "wake": 3, "swap": 2}
KINDS = {
    "relation": "another relation: < for <=, == for !=",
    "boundary": "a number one more or one less, in a comparison or a sum",
    "condition": "a condition negated, one of its terms dropped, or the other bool returned",
    "statement": "a call, an assignment or an early leave dropped",
    "undo": "a call that takes something back dropped: forget, erase, clear, release, rollback",
    "wake": "a call that makes somebody act dropped: wake, notify, post, set, resume",
    "swap": "two neighbouring calls in the other order",
}

OTHER_RELATION = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
# Of an ordering, the relation defect moves the bound one way; the boundary defect moves it the other way.
SHIFT_OF_RIGHT = {"<": "-", ">=": "-", "<=": "+", ">": "+"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="}
BEFORE_EXPRESSION = {"(", "[", "{", ",", ";", "?", ":", "return", "co_return", "co_yield", "throw", "case", "else",
                     "do"} | ASSIGNMENTS
AFTER_EXPRESSION = {")", "]", "}", ",", ";", "?", ":"} | ASSIGNMENTS
KEYWORDS = set(
    "alignas alignof asm auto bool break case catch char class concept const consteval constexpr constinit const_cast "
    "continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit extern "
    "float for friend goto if inline int long mutable namespace new noexcept operator private protected public "
    "register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch "
    "template thread_local throw try typedef typeid typename union unsigned using virtual void volatile while".split())
# What is not run, or is the assertion of the code itself, or costs nothing but time when it is missing.
NOT_RUN = {"static_assert", "sizeof", "alignof", "decltype", "noexcept", "requires", "typeid"}
ASSERTIONS = {"check", "checkFailed", "assert"}
NO_EFFECT = {"reserve", "shrink_to_fit", "static_cast", "unreachable", "ignore", "assertHeld"}
UNDO = re.compile("restore|forget|undo|roll_?back|revert|release|erase|remove|reset|clear|abandon|cancel|close|recall|"
                  "discard|drop|giveBack|putBack|takeBack|unlock|detach|leave|purge", re.IGNORECASE)
WAKE = re.compile("(wake|notify|post|ring|poke|touch|dispatch|resume|arm|setAlarm|set$|signal|nudge|schedule|start|"
                  "tell|announce)", re.IGNORECASE)
COUNTED = re.compile(r"(Max|Min|Limit|Size|Count|Bytes|Frames|Rows|Depth|Length|Seconds|Tries|Failures|Attempts)_?$|"
                     r"^(max|min|limit|size|count|length|bytes|failures|retryCount|attempts?)_?$|^k[A-Z]")


@dataclasses.dataclass
class Site:
    kind: str
    file: str
    function: str
    line: int
    last_line: int
    start: int
    end: int
    original: str
    changed: str
    parts: list
    number: int = 0

    def key(self):
        """What stays when lines move: by this a judgement of a survivor finds it again."""
        return f"{self.function}: {self.kind}: {self.original} => {self.changed}"

    def pieces(self):
        return [part[:2] for part in self.parts if not isinstance(part, str)]

    def is_wrapper(self):
        return self.pieces() == [(self.start, self.end)]

    def goes_with(self, other):
        """Whether both can be planted in one text: apart, or one within a piece of the other."""
        if self.end <= other.start or other.end <= self.start:
            return True
        outer, inner = sorted((self, other), key=Site.depth)
        return any(start <= inner.start and inner.end <= end for start, end in outer.pieces())

    def depth(self):
        """Sorts the outer before the inner, and of two of the same extent the one that the other can be inside of."""
        return self.start - self.end, not self.is_wrapper()


class Finder:
    def __init__(self, file, text):
        self.file = file
        self.text = text
        self.tokens = lexer.tokens_of(text)
        self.sites = []

    def all(self):
        for body in lexer.bodies_of(self.tokens):
            if not body.is_constant:
                self.search(body)
        self.sites.sort(key=lambda site: (site.start, -site.end, site.kind, site.changed))
        return self.sites

    def search(self, body):
        self.body = body
        self.parents = self.parents_of(body)
        self.barred = self.barred_in(body)
        statement_before = None
        for index in range(body.first + 1, body.last):
            if index in self.barred:
                continue
            token = self.tokens[index]
            if self.begins_statement(index):
                statement = self.statement(index)
                if statement:
                    self.drop(*statement)
                    first, last, callee = statement
                    if statement_before and callee and statement_before[1] == first - 1:
                        self.swap(statement_before, statement)
                    statement_before = statement if callee else None
            if token.kind == "operator" and token.is_free():
                if token.text in OTHER_RELATION and token.match is None:
                    self.relation(index)
                elif token.text in ("&&", "||"):
                    self.terms(index)
                elif token.text in ("+", "-"):
                    self.sum(index)
            elif token.text == "if" and self.tokens[index + 1].text == "(":
                self.negate(index + 1)
            elif token.text == "return" and self.tokens[index + 2].text == ";":
                self.other_bool(index + 1)

    # What surrounds a token.

    def parents_of(self, body):
        """For each token, the index of the bracket that it is in."""
        parents = {}
        inside = [body.first]
        for index in range(body.first + 1, body.last):
            match = self.tokens[index].match
            if match is not None and match < index:
                while inside and inside[-1] > match:
                    inside.pop()
                if inside and inside[-1] == match:
                    inside.pop()
            parents[index] = inside[-1] if inside else body.first
            if match is not None and match > index:
                inside.append(index)
        return parents

    def barred_in(self, body):
        barred = set()
        index = body.first + 1
        while index < body.last:
            token = self.tokens[index]
            after = self.tokens[index + 1]
            last = None
            if token.text in NOT_RUN | ASSERTIONS and after.text == "(":
                last = after.match
            elif token.text == "if" and after.text == "constexpr":
                last = self.tokens[index + 2].match
            elif token.text == "<" and token.match is not None:
                last = token.match
            elif token.text in ("constexpr", "consteval"):
                last = self.find(index, {";"})
            elif token.text == "case":
                last = self.find(index, {":"})
            elif token.kind == "directive":
                last = index
            if last is not None:
                barred.update(range(index, last + 1))
                index = last
            index += 1
        return barred

    def find(self, index, texts):
        """The next token of these outside brackets."""
        while index < self.body.last:
            token = self.tokens[index]
            if token.text in texts:
                return index
            index = token.match + 1 if token.match is not None and token.match > index else index + 1
        return None

    def begins_statement(self, index):
        if self.tokens[self.parents[index]].text != "{":
            return False
        before = self.tokens[index - 1]
        if before.text == ":":
            place = index - 2
            while place > self.body.first and self.tokens[place].text not in (";", "{", "}", "case", "default", "?"):
                place -= 1
            return self.tokens[place].text in ("case", "default")
        return before.text in ("{", "}", ";")

    # Statements.

    def statement(self, index):
        """(first, last, callee) of a statement that can be dropped, or None; callee is "" unless it is a call."""
        first = index
        token = self.tokens[index]
        if token.text in ("return", "continue", "break") and self.tokens[index + 1].text == ";":
            return (first, index + 1, "") if self.is_in_if(index) else None
        if token.text == "static_cast" and self.tokens[index + 2].text == "void":
            return self.discarded(index)
        has_effect = token.text in ("++", "--")
        if token.text in ("++", "--", "*"):
            index += 1
        callee = ""
        name = ""
        while True:
            token = self.tokens[index]
            if token.kind != "name" or token.text in KEYWORDS:
                return None
            name = token.text
            index += 1
            while self.tokens[index].match is not None and self.tokens[index].text in ("<", "(", "["):
                callee = name if self.tokens[index].text == "(" else callee if self.tokens[index].text == "<" else ""
                index = self.tokens[index].match + 1
            if self.tokens[index].text not in (".", "->", "::"):
                break
            callee = ""
            index += 1
        token = self.tokens[index]
        if token.text in ("++", "--"):
            has_effect = True
            index += 1
        elif token.text in ASSIGNMENTS:
            has_effect = True
            callee = ""
            index = self.find(index, {";"})
        if index is None or self.tokens[index].text != ";" or not (callee or has_effect):
            return None
        if callee in NO_EFFECT | ASSERTIONS:
            return None
        return first, index, callee

    def discarded(self, first):
        """A call of which the result is cast to void."""
        opener = self.tokens[first + 1].match + 1
        closer = self.tokens[opener].match
        if closer is None or self.tokens[closer - 1].text != ")" or self.tokens[closer + 1].text != ";":
            return None
        callee = self.tokens[self.tokens[closer - 1].match - 1]
        return (first, closer + 1, callee.text) if callee.kind == "name" else None

    def is_in_if(self, index):
        parent = self.parents[index]
        before = self.tokens[parent - 1]
        if before.text == "else":
            return True
        return before.text == ")" and before.match is not None and self.tokens[before.match - 1].text == "if"

    def drop(self, first, last, callee):
        kind = "statement"
        if callee and UNDO.match(callee):
            kind = "undo"
        elif callee and WAKE.match(callee):
            kind = "wake"
        start, end = self.tokens[first].start, self.tokens[last].end
        self.add(kind, first, last, "dropped", [f"if (!{ASK}) {{ ", (start, end, False), " }"])

    def swap(self, before, after):
        first, second = (self.tokens[before[0]].start, self.tokens[before[1]].end), (
            self.tokens[after[0]].start, self.tokens[after[1]].end)
        if self.text[slice(*first)] == self.text[slice(*second)] or before[2] == after[2] == "require":
            return  # the same; or two validations, of which either may come first
        gap = self.text[first[1]:second[0]]
        self.add("swap", before[0], after[1], "swapped",
                 [f"if ({ASK}) {{ ", (*second, True), " ", (*first, True), " } else { ", (*first, False), gap,
                  (*second, False), " }"])

    # Expressions.

    def operand_before(self, index, stops):
        """The index of the first token of what stands to the left of an operator."""
        place = index - 1
        while place > self.body.first:
            token = self.tokens[place]
            if token.kind == "directive":
                return None
            if token.match is not None and token.match < place:
                place = token.match - 1
                continue
            if token.text in BEFORE_EXPRESSION or token.text in stops and token.is_free():
                break
            place -= 1
        return place + 1 if place + 1 < index else None

    def operand_after(self, index, stops):
        """The index of the last token of what stands to the right of an operator."""
        place = index + 1
        while place < self.body.last:
            token = self.tokens[place]
            if token.kind == "directive":
                return None
            if token.text in AFTER_EXPRESSION or token.text in stops and token.is_free():
                break
            place = token.match + 1 if token.match is not None and token.match > place else place + 1
        return place - 1 if place - 1 > index else None

    def relation(self, index):
        operator = self.tokens[index]
        stops = {"&&", "||", "&", "|", "^", "==", "!="}
        if operator.text not in ("==", "!="):
            stops |= {"<", "<=", ">", ">="}
        left = self.operand_before(index, stops)
        right = self.operand_after(index, stops)
        if left is None or right is None:
            return
        tokens = self.tokens
        a = (tokens[left].start, tokens[index - 1].end)
        b = (tokens[index + 1].start, tokens[right].end)
        other = OTHER_RELATION[operator.text]
        self.add("relation", left, right, f"{self.shown(*a)} {other} {self.shown(*b)}",
                 [f"({ASK} ? (", (*a, True), f" {other} ", (*b, True), ") : (", (*a, False),
                  self.text[a[1]:operator.start] + operator.text + self.text[operator.end:b[0]], (*b, False), "))"])
        if operator.text in SHIFT_OF_RIGHT:
            shift = SHIFT_OF_RIGHT[operator.text]
            whole = self.shown(a[0], b[1])
            if self.is_number(index + 1, right):
                self.shift(index + 1, right, shift, whole, f"{whole} {shift} 1")
            elif self.is_number(left, index - 1):
                other = "+" if shift == "-" else "-"
                self.shift(left, index - 1, other, whole,
                           f"{self.shown(*a)} {other} 1 {operator.text} {self.shown(*b)}")

    def is_number(self, first, last):
        """Whether an operand is a count, as far as its name tells."""
        if first == last and self.tokens[first].kind == "number":
            return "." not in self.tokens[first].text
        place = last
        if self.tokens[place].text == ")" and self.tokens[place].match == place - 1:
            place -= 2
        return self.tokens[place].kind == "name" and bool(COUNTED.search(self.tokens[place].text))

    def shift(self, first, last, sign, original, changed):
        piece = (self.tokens[first].start, self.tokens[last].end, False)
        self.add("boundary", first, last, changed, ["((", piece, f") {sign} ({ASK} ? 1 : 0))"], original)

    def sum(self, index):
        number = self.tokens[index + 1]
        if number.kind != "number" or not re.fullmatch(r"[\d']+[uUlL]*", number.text) or index + 1 in self.barred:
            return
        digits = re.match(r"[\d']+", number.text).group()
        value = int(digits.replace("'", ""))
        other = str(value - 1 if value else 1) + number.text[len(digits):]
        left = self.operand_before(index, {"&&", "||", "&", "|", "^", "==", "!=", "<", "<=", ">", ">="})
        if left is None:
            return
        before = self.shown(self.tokens[left].start, self.tokens[index].end)
        self.add("boundary", index + 1, index + 1, f"{before} {other}", [f"({ASK} ? {other} : {number.text})"],
                 original=f"{before} {number.text}")

    def terms(self, index):
        operator = self.tokens[index].text
        stops = {"&&", "||"} if operator == "&&" else {"||"}
        wrap = f"({ASK} || (" if operator == "&&" else f"(!{ASK} && ("
        right = self.operand_after(index, stops)
        left = self.operand_before(index, stops)
        if left is None or right is None:
            return
        original, before, after = (self.shown(self.tokens[first].start, self.tokens[last].end) for first, last in (
            (left, right), (left, index - 1), (index + 1, right)))
        sides = [(index + 1, right, before)]
        if self.tokens[left - 1].text != operator:
            sides.append((left, index - 1, after))
        for first, last, kept in sides:
            piece = (self.tokens[first].start, self.tokens[last].end, False)
            self.add("condition", first, last, kept, [wrap, piece, "))"], original)

    def negate(self, opener):
        closer = self.tokens[opener].match
        if closer is None:
            return
        first = opener + 1
        place = self.find(first, {";"})
        while place is not None and place < closer:
            first = place + 1
            place = self.find(first, {";"})
        assignment = self.find(first, ASSIGNMENTS)
        if assignment is not None and assignment < closer or first >= closer:
            return
        piece = (self.tokens[first].start, self.tokens[closer - 1].end, False)
        self.add("condition", first, closer - 1, "negated", ["(static_cast<bool>(", piece, f") != {ASK})"])

    def other_bool(self, index):
        token = self.tokens[index]
        other = {"true": "false", "false": "true"}.get(token.text)
        if other:
            self.add("condition", index, index, f"return {other}", [f"({ASK} ? {other} : {token.text})"],
                     original=f"return {token.text}")

    def add(self, kind, first, last, changed, parts, original=None):
        if any(self.tokens[place].kind == "directive" for place in range(first, last + 1)):
            return
        start, end = self.tokens[first].start, self.tokens[last].end
        self.sites.append(Site(kind, self.file, self.body.name, self.tokens[first].line,
                               self.tokens[last].line + self.tokens[last].text.count("\n"), start, end,
                               original or self.shown(start, end), changed, parts))

    def shown(self, start, end, most=120):
        text = " ".join(re.sub(r"//[^\n]*", "", self.text[start:end]).split())
        return text if len(text) <= most else text[:most - 2].rstrip() + " …"


def sites_in(file, text):
    return Finder(file, text).all()
