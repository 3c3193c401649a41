package io.homeostat.reconcile.command.start;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.output.BlockYaml;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.secrets.SecretForms;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A document that is being written. What could not be taken over from where it comes from stands in it, as comments. */
public final class Draft {
    private static final Splitter DOTS = Splitter.on('.');

    private final String kind;
    private final String name;
    private final Map<String, Object> spec = new LinkedHashMap<>();
    private final List<Remark> remarks = new ArrayList<>();

    /**
     * Something that whoever uses the document has to know.
     *
     * @param key of the spec, above which it stands; empty for the end
     * @param file that the document is made from
     * @param line in it, from 1; 0 for the file as a whole
     */
    public record Remark(String key, String file, int line, String words) {
        /** For standard error. */
        public Problem problem() {
            return new Problem(Problem.Kind.VALUE, "", file, line, line == 0 ? 0 : 1, "", words);
        }

        private String comment() {
            return "  # " + Text.oneLine(words) + (line == 0 ? "" : " (line " + line + ")") + "\n";
        }
    }

    public Draft(String kind, String name) {
        this.kind = kind;
        this.name = name;
    }

    /** Sets a field, named by its path in the spec, such as {@code stop.signal}. */
    Draft put(String path, Object value) {
        Map<String, Object> at = spec;
        List<String> keys = DOTS.splitToList(path);
        for (String key : keys.subList(0, keys.size() - 1)) {
            at = below(at, key);
        }
        at.put(keys.getLast(), value);
        return this;
    }

    /** Adds to a list. */
    @SuppressWarnings("unchecked")
    void add(String key, String value) {
        ((List<String>) spec.computeIfAbsent(key, _ -> new ArrayList<String>())).add(value);
    }

    /** Sets a variable; one that looks like a secret is remarked on. */
    void variable(String variable, String value, String file, int line) {
        plain(variable, value);
        if (SecretForms.isName(variable)) {
            remarks.add(new Remark(
                    "env",
                    file,
                    line,
                    "env." + variable + " looks like a secret: better keep it in a file of its own, as {file: PATH}"));
        }
    }

    /** Sets a variable that can't be a file. */
    void plain(String variable, String value) {
        below(spec, "env").put(variable, value);
    }

    /** Notes what has no place in the document. */
    void notTaken(String file, int line, String what, String why) {
        remarks.add(new Remark("", file, line, "not taken over: " + what + ": " + why));
    }

    /** Notes what is to be known about a key of the spec. */
    void remark(String key, String file, int line, String words) {
        remarks.add(new Remark(key, file, line, words));
    }

    String name() {
        return name;
    }

    public ImmutableList<Remark> remarks() {
        return ImmutableList.copyOf(remarks);
    }

    /** The document, without a separator before it. */
    public String yaml() {
        StringBuilder text = new StringBuilder(BlockYaml.of(head())).append("spec:\n");
        spec.forEach((key, value) -> {
            remarks.stream()
                    .filter(remark -> remark.key().equals(key))
                    .forEach(remark -> text.append(remark.comment()));
            BlockYaml.of(ImmutableMap.of(key, value))
                    .lines()
                    .forEach(line -> text.append("  ").append(line).append("\n"));
        });
        remarks.stream()
                .filter(remark -> !spec.containsKey(remark.key()))
                .forEach(remark -> text.append(remark.comment()));
        return text.toString();
    }

    private Map<String, Object> head() {
        Map<String, Object> head = new LinkedHashMap<>();
        head.put("apiVersion", "homeostat.io/v1");
        head.put("kind", kind);
        head.put("metadata", ImmutableMap.of("name", name));
        return head;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> below(Map<String, Object> at, String key) {
        return (Map<String, Object>) at.computeIfAbsent(key, _ -> new LinkedHashMap<String, Object>());
    }
}
