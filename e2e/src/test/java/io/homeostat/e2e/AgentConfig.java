package io.homeostat.e2e;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.List;

/** An agent.yaml, written as JSON, which is YAML. Unchangeable: each {@code with} makes another. */
final class AgentConfig {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final ObjectNode tree;

    private AgentConfig(ObjectNode tree) {
        this.tree = tree;
    }

    /** Nothing but these directories declares anything, no port is taken, and the resync is too late for any test. */
    static AgentConfig of(Path... files) {
        return new AgentConfig(JSON.createObjectNode())
                .with("resync", "1h")
                .with("metrics.listen", "")
                .with("sources.local.directories", List.of())
                .with(
                        "sources.files",
                        List.of(files).stream().map(Path::toString).toList());
    }

    /** The same with one field more, or another value for it: {@code limits.events}. */
    AgentConfig with(String path, Object value) {
        ObjectNode copy = tree.deepCopy();
        ObjectNode node = copy;
        String[] words = path.split("\\.", -1);
        for (int i = 0; i < words.length - 1; i++) {
            node = node.withObjectProperty(words[i]);
        }
        node.set(words[words.length - 1], JSON.valueToTree(value));
        return new AgentConfig(copy);
    }

    @Override
    public String toString() {
        return tree.toPrettyString();
    }
}
