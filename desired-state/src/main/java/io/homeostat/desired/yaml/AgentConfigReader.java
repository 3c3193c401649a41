package io.homeostat.desired.yaml;

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads {@code agent.yaml}, with the same rules and the same errors as documents. */
public final class AgentConfigReader {
    /** In a text that may be no YAML. */
    private static final Pattern KEY = Pattern.compile("([\\w-]+)[\"']?\\s*:");

    private static final Pattern TOP_KEY = Pattern.compile("^[{\"']*([\\w-]+)[\"']?\\s*:");

    private AgentConfigReader() {}

    /**
     * The configuration, or errors sorted by place.
     *
     * @param places where the agent is, also of a file with errors; null: it can't tell, as it may mean another place by what is wrong
     * @param namesPlace whether something in a file that can't tell looks as if it named a place, or nobody knows what is in it
     */
    public record Result(
            @Nullable AgentConfig config, @Nullable Places places, boolean namesPlace, ImmutableList<Problem> errors) {
        private static Result unreadable(Report report) {
            return new Result(null, null, true, ImmutableList.copyOf(report.errors()));
        }
    }

    /** The directories of an agent as its file names them; the default holds for what is null. */
    public record Places(
            @Nullable String stateDir, @Nullable String runDir) {
        private static final String STATE_DIR = "stateDir";
        private static final String RUN_DIR = "runDir";
        private static final ImmutableList<String> KEYS = ImmutableList.of(STATE_DIR, RUN_DIR);

        /** Whether a key that nobody knows may stand for one of these, mistyped or indented by mistake. */
        private static boolean mayBeMeant(String key) {
            return Suggestion.of(CharMatcher.anyOf("-_").removeFrom(key), KEYS).isPresent();
        }
    }

    /** What holds when there is no file. */
    public static AgentConfig defaults() {
        Shape shape = Shape.of(AgentConfig.class);
        return (AgentConfig) shape.construct(shape.defaults());
    }

    /** Reads the file, whoever can change it; one without a word in it means the defaults. */
    public static Result read(Path file) {
        return read(file, TrustedPath.ANY);
    }

    /** As {@link #read(Path)}, but a file that is not trusted is not read. */
    public static Result read(Path file, TrustedPath trusted) {
        Report report = new Report(file.toString());
        if (Files.exists(file) && !Files.isRegularFile(file) && !DocumentFiles.isOpen(file)) {
            report.error(Problem.Kind.NO_FILE, "not a file; name another path");
            return Result.unreadable(report);
        }
        Optional<TrustedPath.Objection> found = DocumentFiles.isOpen(file) ? Optional.empty() : trusted.objection(file);
        if (found.isPresent()) {
            report.error(Problem.Kind.UNTRUSTED, "not read: " + found.get().ofConfiguration());
            return Result.unreadable(report);
        }
        try (InputStream in = Files.newInputStream(file)) {
            return read(in, report, file.toAbsolutePath().getParent());
        } catch (IOException e) {
            report.error(Problem.Kind.UNREADABLE, "can't be read: " + IoReason.of(e));
            return Result.unreadable(report);
        }
    }

    private static Result read(InputStream in, Report report, @Nullable Path base) throws IOException {
        Optional<String> text = TextFile.read(in, report);
        List<Node> roots = new ArrayList<>();
        text.ifPresent(present -> YamlText.read(present, report, roots::add));
        if (roots.size() > 1) {
            report.error(Problem.Kind.DUPLICATE, roots.get(1), "", "a second document; agent.yaml is only one");
        }
        Node root = roots.isEmpty() ? new Mapping(1, 1, ImmutableList.of()) : roots.getFirst();
        boolean worded = text.map(AgentConfigReader::namesPlace).orElse(true);
        boolean readable = roots.size() <= 1 && isReadable(worded, report);
        Places places = readable ? places(root, base) : null;
        Object config = new Binder(report, base).record(Shape.of(AgentConfig.class), root, root);
        boolean valid = report.errors().isEmpty() && config != null;
        return new Result(
                valid ? (AgentConfig) config : null,
                places,
                readable ? places == null : worded,
                ImmutableList.sortedCopyOf(report.errors()));
    }

    /** Whether what was found in the text is all of it; what stands there twice is found once. */
    private static boolean isReadable(boolean namesPlace, Report report) {
        return report.errors().stream().allMatch(problem -> problem.kind() == Problem.Kind.DUPLICATE)
                && (report.errors().isEmpty() || !namesPlace);
    }

    /** Whether a text that may be no YAML has one of their names anywhere, or a key that may stand for one. */
    private static boolean namesPlace(String text) {
        return text.lines()
                .filter(line -> !line.strip().startsWith("#"))
                .anyMatch(line -> Places.KEYS.stream().anyMatch(line::contains)
                        || KEY.matcher(line).results().anyMatch(key -> Places.mayBeMeant(key.group(1)))
                        || TOP_KEY.matcher(line).results().anyMatch(key -> mayNameAPlace(key.group(1))));
    }

    /** Null when they are wrong, or something else is that may mean one of them. */
    private static @Nullable Places places(Node root, @Nullable Path base) {
        Shape shape = Shape.of(AgentConfig.class);
        if (!(root instanceof Mapping mapping)) {
            return null;
        }
        Report report = new Report("");
        Binder binder = new Binder(report, base);
        Map<String, String> found = new HashMap<>();
        for (Entry entry : mapping.entries()) {
            String key = entry.key().text();
            if (Places.KEYS.contains(key)) {
                Object value = binder.value(shape.fields().get(shape.indexOf(key)), entry.value());
                if (value == null) {
                    return null;
                }
                found.put(key, (String) value);
            } else if (mayNameAPlace(key)
                    || mayNameAPlace(entry.value())
                    || (!shape.keys().contains(key)
                            && entry.value() instanceof Scalar scalar
                            && scalar.text().startsWith("/"))) {
                return null;
            }
        }
        return new Places(found.get(Places.STATE_DIR), found.get(Places.RUN_DIR));
    }

    /** Unless it is another key of the format, or one of these mistyped. */
    private static boolean mayNameAPlace(String topKey) {
        ImmutableSet<String> known = Shape.of(AgentConfig.class).keys();
        return !known.contains(topKey)
                && (Places.mayBeMeant(topKey) || Suggestion.of(topKey, known).isEmpty());
    }

    /** Whether something within another key is called like one of them. */
    private static boolean mayNameAPlace(Node node) {
        return switch (node) {
            case Mapping mapping ->
                mapping.entries().stream()
                        .anyMatch(entry -> Places.mayBeMeant(entry.key().text()) || mayNameAPlace(entry.value()));
            case Sequence sequence -> sequence.elements().stream().anyMatch(AgentConfigReader::mayNameAPlace);
            case Scalar scalar -> false;
        };
    }
}
