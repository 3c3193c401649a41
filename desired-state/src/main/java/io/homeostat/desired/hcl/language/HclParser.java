package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.Expression.Operator;
import io.homeostat.desired.hcl.language.HclToken.Kind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Parses an expression, or a template, which is text with expressions in it. */
final class HclParser {
    private final List<HclToken> tokens;
    private final Budget budget;
    /** Whether a line break ends something here, or is only space; of the innermost bracket first. */
    private final Deque<Boolean> lineBreaks = new ArrayDeque<>();

    private int at;

    private HclParser(List<HclToken> tokens, Budget budget) {
        this.tokens = tokens;
        this.budget = budget;
    }

    /**
     * @throws HclException at the first mistake
     */
    static Expression expression(String source, Budget budget) {
        HclParser parser = new HclParser(HclScanner.expression(source), budget);
        Expression expression = parser.within(false, parser::expression);
        HclToken next = parser.within(false, parser::peek);
        if (!next.is(Kind.END)) {
            throw HclException.at(
                    next.position(), "goes on after the end of the expression, at character " + next.position());
        }
        return expression;
    }

    /**
     * @throws HclException at the first mistake
     */
    static Expression template(String source, Budget budget) {
        HclParser parser = new HclParser(HclScanner.template(source), budget);
        return parser.within(true, () -> parser.template(Kind.END, false));
    }

    <T> T within(boolean lineBreaksCount, Supplier<T> parse) {
        budget.enter();
        lineBreaks.push(lineBreaksCount);
        try {
            return parse.get();
        } finally {
            lineBreaks.pop();
            budget.leave();
        }
    }

    private Expression template(Kind end, boolean flush) {
        return new TemplateParser(this, end, flush).parse();
    }

    HclToken peek() {
        return tokens.get(next());
    }

    HclToken read() {
        int next = next();
        HclToken token = tokens.get(next);
        if (!token.is(Kind.END)) {
            at = next + 1;
        }
        return token;
    }

    private int next() {
        int next = at;
        while (isSpace(tokens.get(next))) {
            next++;
        }
        return next;
    }

    private boolean isSpace(HclToken token) {
        boolean counts = lineBreaks.element();
        return (token.is(Kind.NEWLINE) && !counts)
                || (token.is(Kind.COMMENT) && !(counts && token.text().endsWith("\n")));
    }

    private boolean isLineBreak(HclToken token) {
        return token.is(Kind.NEWLINE) || token.is(Kind.COMMENT);
    }

    boolean skip(String symbol) {
        boolean found = peek().isSymbol(symbol);
        if (found) {
            read();
        }
        return found;
    }

    private void expect(String symbol, String where) {
        if (!skip(symbol)) {
            throw unexpected(peek(), "\"" + symbol + "\" " + where);
        }
    }

    static HclException unexpected(HclToken token, String wanted) {
        String place = token.is(Kind.END) ? "at the end" : "at character " + token.position();
        return HclException.at(token.position(), "is not a valid expression: " + wanted + " should stand " + place);
    }

    Expression expression() {
        budget.enter();
        try {
            return conditional();
        } finally {
            budget.leave();
        }
    }

    private Expression conditional() {
        Expression condition = binary(0);
        if (!skip("?")) {
            return condition;
        }
        Expression ifTrue = expression();
        expect(":", "between the two results of a condition");
        return new Expression.Conditional(condition, ifTrue, expression());
    }

    /**
     * Parses operands and the operators between them by precedence, without a frame of the stack for each level of it.
     *
     * @param lowest the level of the loosest operator that belongs to the result
     */
    private Expression binary(int lowest) {
        Expression left = withTraversals();
        int entered = 0;
        try {
            for (Optional<Operator> next = operator(lowest); next.isPresent(); next = operator(lowest)) {
                read();
                // Each one is a level deeper when it is evaluated.
                budget.enter();
                entered++;
                left = new Expression.Binary(next.get(), left, binary(next.get().level + 1));
            }
        } finally {
            for (int i = 0; i < entered; i++) {
                budget.leave();
            }
        }
        return left;
    }

    private Optional<Operator> operator(int lowest) {
        HclToken next = peek();
        return Stream.of(Operator.values())
                .filter(each -> each.level >= lowest && next.isSymbol(each.symbol))
                .findFirst();
    }

    private Expression withTraversals() {
        return traversals(term());
    }

    private Expression traversals(Expression from) {
        Expression result = from;
        int entered = 0;
        try {
            while (true) {
                Expression longer = traversal(result);
                if (longer == null) {
                    return result;
                }
                budget.enter();
                entered++;
                result = longer;
            }
        } finally {
            for (int i = 0; i < entered; i++) {
                budget.leave();
            }
        }
    }

    private @Nullable Expression traversal(Expression source) {
        if (skip(".")) {
            if (skip("*")) {
                Expression.Item item = new Expression.Item();
                Expression each = item;
                while (skip(".")) {
                    each = step(each);
                }
                return new Expression.Splat(source, each, item);
            }
            return step(source);
        }
        if (!skip("[")) {
            return null;
        }
        if (skip("*")) {
            expect("]", "after \"[*\"");
            Expression.Item item = new Expression.Item();
            return new Expression.Splat(source, traversals(item), item);
        }
        Expression key = within(false, () -> {
            Expression index = expression();
            expect("]", "after an index");
            return index;
        });
        return new Expression.Index(source, key);
    }

    /** What follows a dot: a name, or a number as an index. */
    private Expression step(Expression source) {
        HclToken next = peek();
        if (next.is(Kind.IDENTIFIER)) {
            return new Expression.Attribute(source, read().text());
        }
        if (next.is(Kind.NUMBER) && next.text().indexOf('.') < 0) {
            return new Expression.Index(source, number(read()));
        }
        throw unexpected(next, "a name");
    }

    private static Expression number(HclToken token) {
        return new Expression.Literal(HclValue.of(HclNumber.parse(token.text())
                .orElseThrow(() ->
                        HclException.at(token.position(), "has a malformed number at character " + token.position()))));
    }

    private Expression term() {
        HclToken next = peek();
        return switch (next.kind()) {
            case NUMBER -> number(read());
            case IDENTIFIER -> word(read());
            case OPEN_QUOTE -> {
                read();
                yield within(true, () -> template(Kind.CLOSE_QUOTE, false));
            }
            case OPEN_HEREDOC -> {
                boolean flush = read().text().startsWith("<<-");
                yield within(true, () -> template(Kind.CLOSE_HEREDOC, flush));
            }
            case SYMBOL -> symbol(next);
            default -> throw unexpected(next, "a value");
        };
    }

    private Expression symbol(HclToken next) {
        return switch (next.text()) {
            case "(" -> {
                read();
                yield within(false, () -> {
                    Expression inner = expression();
                    expect(")", "after an expression in parentheses");
                    return inner;
                });
            }
            case "-" -> unary(Operator.NEGATE);
            case "!" -> unary(Operator.NOT);
            case "[" -> tuple();
            case "{" -> object();
            default -> throw unexpected(next, "a value");
        };
    }

    private Expression unary(Operator operator) {
        read();
        budget.enter();
        try {
            return new Expression.Unary(operator, withTraversals());
        } finally {
            budget.leave();
        }
    }

    private Expression word(HclToken word) {
        if (peek().isSymbol("(") || peek().isSymbol("::")) {
            return call(word);
        }
        return switch (word.text()) {
            case "true" -> new Expression.Literal(HclValue.TRUE, word.text());
            case "false" -> new Expression.Literal(HclValue.FALSE, word.text());
            case "null" -> new Expression.Literal(HclValue.NULL, word.text());
            default -> new Expression.Variable(word.text());
        };
    }

    private Expression call(HclToken word) {
        StringBuilder name = new StringBuilder(word.text());
        while (skip("::")) {
            name.append("::").append(name("a function"));
        }
        expect("(", "after the name of a function");
        return within(false, () -> {
            List<Expression> arguments = new ArrayList<>();
            while (!skip(")")) {
                arguments.add(expression());
                if (skip("...")) {
                    expect(")", "after the last argument");
                    return new Expression.Call(name.toString(), arguments, true);
                }
                if (!skip(",")) {
                    expect(")", "or a comma after an argument");
                    break;
                }
            }
            return new Expression.Call(name.toString(), arguments, false);
        });
    }

    String name(String of) {
        HclToken next = read();
        if (!next.is(Kind.IDENTIFIER)) {
            throw unexpected(next, "the name of " + of);
        }
        return next.text();
    }

    private Expression tuple() {
        read();
        return within(false, () -> {
            if (peek().isWord("for")) {
                return loop(false, "]");
            }
            List<Expression> elements = new ArrayList<>();
            while (!skip("]")) {
                elements.add(expression());
                if (!skip(",")) {
                    expect("]", "or a comma after an element");
                    break;
                }
            }
            return new Expression.Tuple(elements);
        });
    }

    private Expression object() {
        read();
        if (within(false, this::peek).isWord("for")) {
            return within(false, () -> loop(true, "}"));
        }
        return within(true, () -> {
            List<Expression.ObjectOf.Entry> items = new ArrayList<>();
            while (true) {
                if (isLineBreak(peek())) {
                    read();
                    continue;
                }
                if (skip("}")) {
                    return new Expression.ObjectOf(items);
                }
                items.add(item());
                if (skip("}")) {
                    return new Expression.ObjectOf(items);
                }
                if (!skip(",")) {
                    if (!isLineBreak(peek())) {
                        throw unexpected(peek(), "a comma, a line break or \"}\"");
                    }
                    read();
                }
            }
        });
    }

    private Expression.ObjectOf.Entry item() {
        boolean calculated = peek().isSymbol("(");
        Expression key = expression();
        if (!skip("=") && !skip(":")) {
            throw unexpected(peek(), "\"=\" after a key");
        }
        return new Expression.ObjectOf.Entry(calculated ? key : key(key), expression());
    }

    /** A single word is a key as it stands. */
    private static Expression key(Expression written) {
        return switch (written) {
            case Expression.Variable(String name) -> new Expression.Literal(HclValue.of(name));
            case Expression.Literal(HclValue _, String keyword)
            when keyword != null -> new Expression.Literal(HclValue.of(keyword));
            default -> isPath(written) ? new Expression.PathAsKey() : written;
        };
    }

    private static boolean isPath(Expression expression) {
        return switch (expression) {
            case Expression.Attribute(Expression source, String _) ->
                source instanceof Expression.Variable || isPath(source);
            case Expression.Index(Expression source, Expression key) ->
                isLiteral(key) && (source instanceof Expression.Variable || isPath(source));
            default -> false;
        };
    }

    private static boolean isLiteral(Expression expression) {
        return expression instanceof Expression.Literal
                || (expression instanceof Expression.Template(List<Expression> parts)
                        && parts.size() == 1
                        && parts.getFirst() instanceof Expression.Literal);
    }

    private Expression loop(boolean object, String close) {
        read();
        LoopNames names = loopNames();
        Expression collection = expression();
        expect(":", "after the collection of a \"for\"");
        Expression first = expression();
        Expression second = skip("=>") ? expression() : null;
        boolean groups = skip("...");
        Expression condition = null;
        if (peek().isWord("if")) {
            read();
            condition = expression();
        }
        expect(close, "at the end of a \"for\"");
        if (object != (second != null) || (groups && !object)) {
            throw HclException.of(
                    "has a \"for\" that does not fit its brackets: in braces a key, \"=>\" and a value; in square brackets a value");
        }
        return new Expression.For(
                names.key(),
                names.value(),
                collection,
                second == null ? null : first,
                second == null ? first : second,
                condition,
                groups);
    }

    record LoopNames(@Nullable String key, String value) {}

    /** {@code value in}, or {@code key, value in}. */
    LoopNames loopNames() {
        String first = name("a variable");
        String second = skip(",") ? name("a variable") : null;
        if (!peek().isWord("in")) {
            throw unexpected(peek(), "\"in\"");
        }
        read();
        return second == null ? new LoopNames(null, first) : new LoopNames(first, second);
    }
}
