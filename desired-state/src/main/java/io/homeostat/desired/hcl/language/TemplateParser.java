package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclToken.Kind;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Parses a template up to its end: first its parts, then how directives nest. */
final class TemplateParser {
    private final HclParser parser;
    private final Kind end;
    private final boolean flush;

    private final List<Part> parts = new ArrayList<>();
    private int at;

    TemplateParser(HclParser parser, Kind end, boolean flush) {
        this.parser = parser;
        this.end = end;
        this.flush = flush;
    }

    private sealed interface Part {
        record Text(String text) implements Part {}

        record Value(Expression expression) implements Part {}

        record If(Expression condition) implements Part {}

        record For(HclParser.LoopNames names, Expression collection) implements Part {}

        /** {@code else}, {@code endif} or {@code endfor}. */
        record Mark(String word) implements Part {}
    }

    Expression parse() {
        readParts();
        if (flush) {
            unindent();
        }
        meld();
        if (parts.isEmpty()) {
            parts.add(new Part.Text(""));
        }
        if (parts.size() == 1 && parts.getFirst() instanceof Part.Value(Expression only)) {
            return only;
        }
        Block block = block(null);
        return new Expression.Template(block.parts());
    }

    private void readParts() {
        boolean trimNext = false;
        while (true) {
            HclToken next = parser.read();
            if (next.is(end)) {
                return;
            }
            boolean trim = trimNext;
            switch (next.kind()) {
                case TEXT, QUOTED_TEXT -> {
                    String text = HclText.unescaped(next);
                    parts.add(new Part.Text(trim ? HclText.trimLeft(text) : text));
                    trimNext = false;
                }
                case INTERPOLATION -> {
                    trimLast(next);
                    trimNext = parser.within(false, () -> {
                        parts.add(new Part.Value(parser.expression()));
                        return sequenceEnd();
                    });
                }
                case DIRECTIVE -> {
                    trimLast(next);
                    trimNext = parser.within(false, () -> {
                        parts.add(directive());
                        return sequenceEnd();
                    });
                }
                default -> throw HclException.of("lacks the end of a template");
            }
        }
    }

    private void trimLast(HclToken token) {
        if (token.trims() && !parts.isEmpty() && parts.getLast() instanceof Part.Text(String text)) {
            parts.set(parts.size() - 1, new Part.Text(HclText.trimRight(text)));
        }
    }

    private boolean sequenceEnd() {
        HclToken close = parser.read();
        if (!close.is(Kind.SEQUENCE_END)) {
            throw HclException.at(
                    close.position(),
                    "has a sequence begun with \"${\" or \"%{\" that is not closed by a brace before character "
                            + close.position() + "; to mean these characters, write \"$${\" or \"%%{\"");
        }
        return close.trims();
    }

    private Part directive() {
        HclToken word = parser.read();
        if (word.is(Kind.IDENTIFIER)) {
            switch (word.text()) {
                case "if" -> {
                    return new Part.If(parser.expression());
                }
                case "for" -> {
                    return new Part.For(parser.loopNames(), parser.expression());
                }
                case "else", "endif", "endfor" -> {
                    return new Part.Mark(word.text());
                }
                default -> {}
            }
        }
        throw HclParser.unexpected(word, "if, else, endif, for or endfor; to mean \"%{\", write \"%%{\";");
    }

    /** Removes the white space that all lines begin with. */
    private void unindent() {
        int fewest = Integer.MAX_VALUE;
        List<Integer> lines = new ArrayList<>();
        boolean lineStart = true;
        for (int i = 0; i < parts.size(); i++) {
            String text = parts.get(i) instanceof Part.Text(String literal) ? literal : null;
            if (lineStart && text != null) {
                String trimmed = HclText.trimLeft(text);
                if (!trimmed.isEmpty() || !text.endsWith("\n")) {
                    String space = text.substring(0, text.length() - trimmed.length());
                    fewest = Math.min(fewest, HclText.characters(space).size());
                    lines.add(i);
                }
            } else if (lineStart) {
                fewest = 0;
            }
            lineStart = text != null && text.endsWith("\n");
        }
        for (int line : lines) {
            String text = ((Part.Text) parts.get(line)).text();
            List<String> characters = HclText.characters(text);
            parts.set(
                    line,
                    new Part.Text(String.join(
                            "", characters.subList(Math.min(fewest, characters.size()), characters.size()))));
        }
    }

    private void meld() {
        List<Part> melded = new ArrayList<>();
        StringBuilder text = null;
        for (Part each : parts) {
            if (each instanceof Part.Text(String more)) {
                if (text == null) {
                    text = new StringBuilder();
                }
                text.append(more);
            } else {
                if (text != null) {
                    melded.add(new Part.Text(text.toString()));
                    text = null;
                }
                melded.add(each);
            }
        }
        if (text != null) {
            melded.add(new Part.Text(text.toString()));
        }
        parts.clear();
        parts.addAll(melded);
    }

    /** @param mark what ended it; null at the end of the template */
    private record Block(List<Expression> parts, @Nullable String mark) {}

    /** @param within the directive whose end is looked for */
    private Block block(@Nullable String within) {
        List<Expression> found = new ArrayList<>();
        while (at < parts.size()) {
            switch (parts.get(at++)) {
                case Part.Text(String text) -> found.add(new Expression.Literal(HclValue.of(text)));
                case Part.Value(Expression expression) -> found.add(expression);
                case Part.If(Expression condition) -> found.add(parser.within(true, () -> conditional(condition)));
                case Part.For(HclParser.LoopNames names, Expression collection) ->
                    found.add(parser.within(true, () -> loop(names, collection)));
                case Part.Mark(String word) -> {
                    boolean fits = within != null
                            && (word.equals("end" + within) || (word.equals("else") && within.equals("if")));
                    if (!fits) {
                        throw HclException.of("has an \"" + word + "\" in a \"%{\" sequence that belongs to nothing");
                    }
                    return new Block(found, word);
                }
            }
        }
        if (within != null) {
            throw HclException.of("lacks the \"%{end" + within + "}\" of an \"" + within + "\"");
        }
        return new Block(found, null);
    }

    private Expression conditional(Expression condition) {
        Block first = block("if");
        Block second = "else".equals(first.mark()) ? block("if") : new Block(List.of(), "endif");
        if ("else".equals(second.mark())) {
            throw HclException.of("has two \"else\" for one \"if\"");
        }
        return new Expression.Conditional(condition, text(first), text(second));
    }

    private Expression loop(HclParser.LoopNames names, Expression collection) {
        Block content = block("for");
        return new Expression.Join(
                new Expression.For(names.key(), names.value(), collection, null, text(content), null, false));
    }

    private static Expression text(Block block) {
        return new Expression.Template(
                block.parts().isEmpty() ? List.of(new Expression.Literal(HclValue.of(""))) : block.parts());
    }
}
