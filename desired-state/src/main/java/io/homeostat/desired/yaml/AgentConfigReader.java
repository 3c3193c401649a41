package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.yaml.Node.Mapping;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads {@code agent.yaml}, with the same rules and the same errors as documents. */
public final class AgentConfigReader {
    private AgentConfigReader() {}

    /** The configuration, or errors sorted by place. */
    public record Result(@Nullable AgentConfig config, ImmutableList<Problem> errors) {}

    /** What holds when there is no file. */
    public static AgentConfig defaults() {
        Shape shape = Shape.of(AgentConfig.class);
        return (AgentConfig) shape.construct(shape.defaults());
    }

    /** Reads the file; one without a word in it means the defaults. */
    public static Result read(Path file) {
        Report report = new Report(file.toString());
        if (Files.exists(file) && !Files.isRegularFile(file) && !DocumentFiles.isOpen(file)) {
            report.error(Problem.Kind.NO_FILE, "not a file; name another path");
            return new Result(null, ImmutableList.copyOf(report.errors()));
        }
        try (InputStream in = Files.newInputStream(file)) {
            return read(in, report, file.toAbsolutePath().getParent());
        } catch (IOException e) {
            report.error(Problem.Kind.UNREADABLE, "can't be read: " + IoReason.of(e));
            return new Result(null, ImmutableList.copyOf(report.errors()));
        }
    }

    private static Result read(InputStream in, Report report, @Nullable Path base) throws IOException {
        List<Node> roots = new ArrayList<>();
        TextFile.read(in, report).ifPresent(text -> YamlText.read(text, report, roots::add));
        if (roots.size() > 1) {
            report.error(Problem.Kind.DUPLICATE, roots.get(1), "", "a second document; agent.yaml is only one");
        }
        Node root = roots.isEmpty() ? new Mapping(1, 1, ImmutableList.of()) : roots.getFirst();
        Object config = new Binder(report, base).record(Shape.of(AgentConfig.class), root, root);
        boolean valid = report.errors().isEmpty() && config != null;
        return new Result(valid ? (AgentConfig) config : null, ImmutableList.sortedCopyOf(report.errors()));
    }
}
