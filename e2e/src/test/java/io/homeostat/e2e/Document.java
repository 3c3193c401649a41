package io.homeostat.e2e;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A declaration, written as JSON, which is YAML. Unchangeable: each {@code with} makes another. */
final class Document {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final ObjectNode tree;

    private Document(ObjectNode tree) {
        this.tree = tree;
    }

    private static Document of(String kind, String name) {
        ObjectNode tree = JSON.createObjectNode();
        tree.put("apiVersion", "homeostat.io/v1").put("kind", kind);
        tree.putObject("metadata").put("name", name);
        tree.putObject("spec");
        return new Document(tree);
    }

    static Document plugin(String name) {
        return of("Plugin", name);
    }

    static Document process(String name) {
        return of("Process", name);
    }

    static Document driver(String name) {
        return of("Driver", name);
    }

    static Document sandbox(String name, String endpoint) {
        return of("Sandbox", name).with("endpoint", endpoint);
    }

    /** A container that is a shell script. */
    static Document container(String name, String sandbox, String script) {
        return of("Container", name)
                .with("sandbox", sandbox)
                .with("rootfs.path", "/rootfs")
                .with("command", List.of("/bin/sh", "-c", script))
                .with("stop.timeout", "10s");
    }

    static Document task(String name, String driver) {
        return of("Task", name).with("driver", driver);
    }

    /** A task of the sample driver that is a shell script. */
    static Document task(String name, String driver, String script) {
        return task(name, driver)
                .with("config.command", "/bin/sh")
                .with("config.args", List.of("-c", script))
                .with("stop.timeout", "10s");
    }

    /** A process that is a shell script, from nowhere but this machine. */
    static Document script(String name, String script) {
        return process(name)
                .with("install", "local")
                .with("entryPoint", "/bin/sh")
                .with("arguments", new String[] {"-c", script});
    }

    /** What can't be installed: its archive is not in this directory. */
    static Document missing(String name, Path directory) {
        return process(name)
                .with("revision", "1")
                .with("source.url", directory.resolve("none.tar.gz").toString())
                .with("entryPoint", "run");
    }

    /** The sample plugin, with short patience. */
    static Document greeter(String name, String revision, String url) {
        return plugin(name)
                .with("revision", revision)
                .with("source.url", url)
                .with("entryPoint", "bin/greeter")
                .with("stop.timeout", "10s");
    }

    Document label(String name, String value) {
        Document copy = new Document(tree.deepCopy());
        ((ObjectNode) copy.tree.get("metadata")).withObjectProperty("labels").put(name, value);
        return copy;
    }

    /**
     * The same with one field more, or another value for it.
     *
     * @param path below spec: {@code start.timeout}
     */
    Document with(String path, Object value) {
        Document copy = new Document(tree.deepCopy());
        ObjectNode node = (ObjectNode) copy.tree.get("spec");
        String[] words = path.split("\\.", -1);
        for (int i = 0; i < words.length - 1; i++) {
            node = node.withObjectProperty(words[i]);
        }
        node.set(words[words.length - 1], JSON.valueToTree(value));
        return copy;
    }

    /** The same with these arguments and no others. */
    Document arguments(String... arguments) {
        return with("arguments", arguments);
    }

    /** The same with a configuration that is a text. */
    Document config(String text) {
        return with("config", Map.of("string", text));
    }

    /** {@code plugin/greeter}. */
    String id() {
        return tree.get("kind").asText().toLowerCase(Locale.ROOT) + "/"
                + tree.get("metadata").get("name").asText();
    }

    @Override
    public String toString() {
        return tree.toPrettyString();
    }
}
