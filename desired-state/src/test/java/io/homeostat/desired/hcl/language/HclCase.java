package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.Special;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One line of a table of cases, {@code source ==> outcome}. In the source, the pictures of control characters stand for the characters: ⏎
 * for a line feed, ␍ for a carriage return, ␉ for a tab, ␠ for a space. The outcome is a value in the notation of {@link #notation},
 * {@code error} for a mistake without a position, {@code error at 5} for a mistake at the fifth character, or {@code limit} when
 * evaluation costs too much.
 */
record HclCase(String source, String outcome) {
    private static final String SEPARATOR = " ==> ";

    /** Names that the expressions of the tables refer to. Values whose names begin with "later" are unknown. */
    static final Map<String, HclValue> VARIABLES = Map.ofEntries(
            Map.entry("text", HclValue.of("x")),
            Map.entry("zero", HclValue.count(0)),
            Map.entry("two", HclValue.count(2)),
            Map.entry("flag", HclValue.TRUE),
            Map.entry("nothing", HclValue.NULL),
            Map.entry("noText", HclValue.nullOf(Primitive.STRING)),
            Map.entry("noWords", HclValue.nullOf(new ListOf(Primitive.STRING))),
            Map.entry("words", list(HclValue.of("a"), HclValue.of("b"))),
            Map.entry("emptyWords", HclValue.empty(new ListOf(Primitive.STRING))),
            Map.entry("numbers", list(HclValue.count(1), HclValue.count(2))),
            Map.entry("pair", HclValue.tuple(List.of(HclValue.count(1), HclValue.of("b")))),
            Map.entry("tags", set("q", "p")),
            Map.entry("ports", Objects.requireNonNull(HclValue.map(Map.of("http", HclValue.count(80))))),
            Map.entry("emptyPorts", HclValue.empty(new MapOf(Primitive.NUMBER))),
            Map.entry(
                    "settings",
                    HclValue.object(Map.of(
                            "a",
                            HclValue.count(1),
                            "b",
                            HclValue.object(Map.of("c", HclValue.of("d"))),
                            "list",
                            HclValue.tuple(List.of(HclValue.of("x")))))),
            Map.entry("anything", HclValue.DYNAMIC),
            Map.entry("later", HclValue.unknown(Primitive.STRING)),
            Map.entry("laterWords", HclValue.unknown(new ListOf(Primitive.STRING))),
            Map.entry("laterPorts", HclValue.unknown(new MapOf(Primitive.NUMBER))),
            Map.entry("laterPair", HclValue.unknown(new TupleOf(List.of(Primitive.NUMBER, Primitive.STRING)))),
            Map.entry("laterSettings", HclValue.unknown(new ObjectOf(Map.of("a", Primitive.NUMBER)))));

    private static HclValue list(HclValue... elements) {
        return Objects.requireNonNull(HclValue.list(List.of(elements)));
    }

    private static HclValue set(String... elements) {
        return Objects.requireNonNull(
                HclValue.set(Stream.of(elements).map(HclValue::of).toList(), new Budget()));
    }

    /** Reads a table; lines that begin with {@code //} are comments. */
    static Stream<HclCase> read(String table) {
        String resource = "/hcl/language/" + table;
        try (InputStream in = Objects.requireNonNull(HclCase.class.getResourceAsStream(resource), resource);
                BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            return lines
                    .lines()
                    .filter(line -> !line.isEmpty() && !line.startsWith("//"))
                    .map(HclCase::parse)
                    .toList()
                    .stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static HclCase parse(String line) {
        int separator = line.lastIndexOf(SEPARATOR);
        String source = line.substring(0, separator)
                .replace('⏎', '\n')
                .replace('␍', '\r')
                .replace('␉', '\t')
                .replace('␠', ' ');
        return new HclCase(source, line.substring(separator + SEPARATOR.length()));
    }

    /** The parts of a source that has several, divided by {@code |}. */
    List<String> parts() {
        return Stream.of(source.split("\\|", -1)).map(String::trim).toList();
    }

    @Override
    public String toString() {
        return quoted(source);
    }

    static HclValue expression(String source) {
        return new HclExpressions(VARIABLES).expression(source);
    }

    /** A source within itself so many times. */
    static String nested(String form, String innermost, int levels) {
        int hole = form.indexOf('#');
        return form.substring(0, hole).repeat(levels)
                + innermost
                + form.substring(hole + 1).repeat(levels);
    }

    /** The outcome of an evaluation, in the notation of the tables. */
    static String outcome(Supplier<HclValue> evaluation) {
        return text(() -> notation(evaluation.get()));
    }

    /** The outcome of anything that may fail, in the notation of the tables. */
    static String text(Supplier<String> attempt) {
        try {
            return attempt.get();
        } catch (HclException e) {
            return e.isLimit() ? "limit" : e.character() == 0 ? "error" : "error at " + e.character();
        }
    }

    /** A value as HCL, with the type where HCL has no literal: {@code list(number)[1, 2]}, {@code null(string)}, {@code ?(any)}. */
    static String notation(HclValue value) {
        if (!value.isKnown()) {
            return "?(" + value.type().expression() + ")";
        }
        if (value.isNull()) {
            return value.type() == Special.ANY ? "null" : "null(" + value.type().expression() + ")";
        }
        return switch (value.type()) {
            case Primitive.STRING -> quoted(value.text());
            case Primitive.NUMBER -> value.number().text();
            case Primitive.BOOL -> String.valueOf(value.isTrue());
            case Special _ -> value.typeValue().expression();
            case TupleOf _ -> elements(value);
            case ListOf type -> type.expression() + elements(value);
            case SetOf type -> type.expression() + elements(value);
            case ObjectOf _ -> entries(value);
            case MapOf type -> type.expression() + entries(value);
        };
    }

    private static String elements(HclValue value) {
        return value.elements().stream().map(HclCase::notation).collect(Collectors.joining(", ", "[", "]"));
    }

    private static String entries(HclValue value) {
        return value.entries().entrySet().stream()
                .map(each -> each.getKey() + "=" + notation(each.getValue()))
                .collect(Collectors.joining(", ", "{", "}"));
    }

    static String quoted(String text) {
        return '"'
                + text.replace("\\", "\\\\")
                        .replace("\"", "\\\"")
                        .replace("\n", "\\n")
                        .replace("\r", "\\r")
                        .replace("\t", "\\t")
                + '"';
    }
}
