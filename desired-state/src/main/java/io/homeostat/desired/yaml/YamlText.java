package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.Anchor;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/**
 * Turns YAML text into positioned trees, one per document. Duplicate keys are reported; a syntax error ends the text. Tags and merge keys
 * are refused. An alias is its anchor's node itself and costs nothing here; what it costs those who walk the tree is bounded.
 */
final class YamlText {
    /** How deep lists and mappings may stand in one another. */
    static final int MAX_DEPTH = 64;

    /** How many keys and values a document may have, each alias counted as what it stands for. */
    static final int MAX_NODES = 100_000;

    /** How long one key or value may be, in characters. */
    static final int MAX_SCALAR = 1 << 20;

    /** The parser copies what it has of a scalar each time it reads on: short reads would make a long scalar cost hours. */
    private static final int MAX_READ = 1 << 18;

    /** In what the parser says of one with which nothing can begin. */
    private static final Pattern CHARACTER =
            Pattern.compile("(?<=found character )'.'(?= that cannot start any token)");

    /** Where something is whose place nobody knows; the parser always does. */
    private static final Mark START = new Mark("", 0, 0, 0, new int[0], 0);

    private final Report report;
    private final ParserImpl parser;
    /** The document's anchors; an entry without a node is being read. */
    private final Map<Anchor, Anchored> anchors = new HashMap<>();

    /** The brackets and braces that are not closed so far, as "[ at 1:4", the innermost first. */
    private final Deque<String> open = new ArrayDeque<>();

    /** Of the document so far. */
    private long nodes;

    /** The depth of the deepest node since the outermost anchor that is being read. */
    private int deepest;

    private record Anchored(@Nullable Node node, long nodes, int height) {}

    /** Ends the text at an error after which nothing sensible follows. */
    private static final class Hopeless extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final int line;
        private final int column;

        Hopeless(Event event, String message) {
            super(message, null, false, false);
            Mark at = start(event);
            this.line = at.getLine() + 1;
            this.column = at.getColumn() + 1;
        }
    }

    private YamlText(String text, Report report) {
        this.report = report;
        // The length of the whole is bounded before, see TextFile.
        LoadSettings settings = LoadSettings.builder()
                .setCodePointLimit(Integer.MAX_VALUE)
                .setBufferSize(Math.clamp(text.length(), 1, MAX_READ))
                .build();
        this.parser = new ParserImpl(settings, new StreamReader(settings, text));
    }

    /** Hands each document that isn't empty to {@code documents}, in order, up to the first syntax error. */
    static void read(String text, Report report, Consumer<Node> documents) {
        YamlText yaml = new YamlText(text, report);
        try {
            yaml.documents(documents);
        } catch (Hopeless e) {
            report.error(Problem.Kind.SYNTAX, e.line, e.column, String.valueOf(e.getMessage()));
        } catch (MarkedYamlEngineException e) {
            Mark mark = e.getProblemMark().or(e::getContextMark).orElse(START);
            report.error(Problem.Kind.SYNTAX, mark.getLine() + 1, mark.getColumn() + 1, yaml.syntax(e));
        } catch (YamlEngineException e) {
            report.error(Problem.Kind.SYNTAX, "not YAML: " + e.getMessage());
        }
    }

    private static Mark start(Event event) {
        return event.getStartMark().orElse(START);
    }

    private String syntax(MarkedYamlEngineException e) {
        String problem = e.getProblem() == null ? "" : e.getProblem().strip();
        if (problem.contains("'\\t(TAB)'")) {
            return "not YAML: a tab; indent with spaces";
        }
        if (problem.equals("mapping values are not allowed here")) {
            return "not YAML: a ':' where none can be; put text with a ': ' in it in quotes, and indent keys that belong"
                    + " together alike";
        }
        String begins = e.getContextMark()
                .map(from -> (from.getLine() + 1) + ":" + (from.getColumn() + 1))
                .orElse("");
        String context = e.getContext() == null ? "" : e.getContext().strip();
        if (problem.startsWith("expected <block end>")) {
            return "not YAML: indented otherwise than what begins at " + begins
                    + " and goes on here; indent what belongs together alike";
        }
        if (context.equals("while parsing a flow node") && !open.isEmpty()) {
            // That begins here, so its place is no bracket's.
            return "not YAML: a value is missing here, or what closes the " + open.getFirst();
        }
        if (context.startsWith("while parsing a flow ")) {
            return "not YAML: a ',' is missing here, or what closes the " + (context.contains("sequence") ? "[" : "{")
                    + " at " + begins;
        }
        if (context.equals("while scanning a quoted scalar")) {
            return "not YAML: the quote at " + begins + " is never closed";
        }
        if (problem.startsWith("could not find expected ':'")) {
            return "not YAML: the key at " + begins + " has no ':' after it";
        }
        Matcher character = CHARACTER.matcher(problem);
        if (character.find()) {
            return "not YAML: text that begins with " + character.group() + " has to be in quotes";
        }
        int aside = problem.indexOf(" (Do not use");
        String what = aside < 0 ? problem : problem.substring(0, aside);
        return context.isEmpty()
                ? "not YAML: " + what
                : "not YAML: " + context + (begins.isEmpty() ? "" : " from " + begins + " on")
                        + (what.isEmpty() ? "" : ", " + what);
    }

    private void documents(Consumer<Node> documents) {
        while (true) {
            Event event = parser.next();
            switch (event.getEventId()) {
                case StreamEnd -> {
                    return;
                }
                case DocumentStart -> {
                    anchors.clear();
                    nodes = 0;
                    deepest = 0;
                    Node root = node(parser.next(), 0);
                    if (!(root instanceof Scalar scalar && scalar.meaning() == Plain.NULL)) {
                        documents.accept(root);
                    }
                }
                default -> {}
            }
        }
    }

    private Node node(Event event, int depth) {
        if (event instanceof AliasEvent alias) {
            return aliased(alias, depth);
        }
        take(event, depth, 1);
        Anchor anchor = ((NodeEvent) event).getAnchor().orElse(null);
        return anchor == null ? content(event, depth) : anchored(anchor, event, depth);
    }

    private Node content(Event event, int depth) {
        if (event instanceof ScalarEvent scalar) {
            return scalar(scalar);
        }
        return event.getEventId() == Event.ID.SequenceStart ? sequence(event, depth) : mapping(event, depth);
    }

    private Node anchored(Anchor anchor, Event event, int depth) {
        anchors.put(anchor, new Anchored(null, 0, 0));
        long before = nodes - 1;
        int outside = deepest;
        deepest = depth;
        Node node = content(event, depth);
        anchors.put(anchor, new Anchored(node, nodes - before, deepest - depth));
        deepest = Math.max(outside, deepest);
        return node;
    }

    private Node aliased(AliasEvent alias, int depth) {
        Anchored anchored = anchors.get(alias.getAlias());
        if (anchored == null) {
            throw new Hopeless(alias, "alias *" + alias.getAlias() + " has no anchor before it in this document");
        }
        if (anchored.node() == null) {
            throw new Hopeless(alias, "alias *" + alias.getAlias() + " would contain itself");
        }
        take(alias, depth + anchored.height(), anchored.nodes());
        return anchored.node();
    }

    private void take(Event event, int depth, long more) {
        deepest = Math.max(deepest, depth);
        if (depth > MAX_DEPTH) {
            throw new Hopeless(event, "nested deeper than " + MAX_DEPTH + " levels; flatten it");
        }
        nodes += more;
        if (nodes > MAX_NODES) {
            throw new Hopeless(
                    event, "more than " + MAX_NODES + " keys and values in one document, aliases counted; write fewer");
        }
    }

    private Scalar scalar(ScalarEvent event) {
        String tag = event.getTag().orElse(null);
        refuseTag(tag, event);
        if (event.getValue().length() > MAX_SCALAR) {
            throw new Hopeless(event, "a text longer than " + MAX_SCALAR + " characters; keep it in a file of its own");
        }
        Mark at = start(event);
        boolean plain = event.isPlain() && !"!".equals(tag);
        return new Scalar(at.getLine() + 1, at.getColumn() + 1, event.getValue(), plain);
    }

    private Sequence sequence(Event start, int depth) {
        refuseTag(((CollectionStartEvent) start).getTag().orElse(null), start);
        boolean bracket = opens((CollectionStartEvent) start, "[");
        ImmutableList.Builder<Node> elements = ImmutableList.builder();
        for (Event event = parser.next(); event.getEventId() != Event.ID.SequenceEnd; event = parser.next()) {
            elements.add(node(event, depth + 1));
        }
        if (bracket) {
            open.pop();
        }
        Mark at = start(start);
        return new Sequence(at.getLine() + 1, at.getColumn() + 1, elements.build());
    }

    private Mapping mapping(Event start, int depth) {
        refuseTag(((CollectionStartEvent) start).getTag().orElse(null), start);
        boolean brace = opens((CollectionStartEvent) start, "{");
        ImmutableList.Builder<Entry> entries = ImmutableList.builder();
        Map<String, Scalar> seen = new HashMap<>();
        for (Event event = parser.next(); event.getEventId() != Event.ID.MappingEnd; event = parser.next()) {
            Node key = node(event, depth + 1);
            Node value = node(parser.next(), depth + 1);
            if (!(key instanceof Scalar name)) {
                Mark at = start(event);
                report.error(
                        Problem.Kind.SYNTAX,
                        at.getLine() + 1,
                        at.getColumn() + 1,
                        key.described() + " can't be a key; write a word");
            } else if (name.plain() && name.text().equals("<<")) {
                report.error(
                        Problem.Kind.SYNTAX,
                        name,
                        "",
                        "merge keys (<<) are not supported; write the keys out, or alias a whole value");
            } else {
                Scalar first = seen.putIfAbsent(name.text(), name);
                if (first == null) {
                    entries.add(new Entry(name, value));
                } else {
                    report.error(
                            Problem.Kind.DUPLICATE,
                            name,
                            "",
                            "'" + name.text() + "' stands here twice, first at line " + first.line() + "; remove one");
                }
            }
        }
        if (brace) {
            open.pop();
        }
        Mark at = start(start);
        return new Mapping(at.getLine() + 1, at.getColumn() + 1, entries.build());
    }

    /** Whether a collection begins with its bracket or brace; in a list, {@code a: b} is a mapping without one. */
    private boolean opens(CollectionStartEvent start, String with) {
        // An anchor may stand in front of it.
        Mark after = start.getEndMark().orElse(START);
        if (!start.isFlow() || after.getIndex() == start(start).getIndex()) {
            return false;
        }
        open.push(with + " at " + (after.getLine() + 1) + ":" + after.getColumn());
        return true;
    }

    private void refuseTag(@Nullable String tag, Event event) {
        if (tag != null && !tag.equals("!")) {
            Mark at = start(event);
            report.error(
                    Problem.Kind.SYNTAX,
                    at.getLine() + 1,
                    at.getColumn() + 1,
                    "tags such as !!str are not supported; put text in quotes and leave the tag out");
        }
    }
}
