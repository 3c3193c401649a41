package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Joiner;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.ShownDeclaration;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;

/**
 * What is declared of a workload, with every default, and by whom. In place of a secret stands a mapping {@code masked}, which nobody can
 * take for its value: no text field accepts one.
 *
 * @param others weaker sources that declare it, too, the strongest first
 */
public record Declared(StoredDeclaration declaration, ImmutableList<StoredDeclaration> others) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /**
     * What holds of fields that the stored form leaves out. Writing them would make another declaration of it, so they stand beside the
     * document.
     */
    private static final ImmutableMap<String, String> LEFT_OUT = ImmutableMap.of(
            "spec.workingDirectory", "/",
            "spec.umask", "0022",
            "spec.stop.signal", "SIGTERM",
            "spec.restart.policy", "always",
            "spec.execution.timeout", "10m",
            "spec.keepRevisions", "2");

    private static final String ONLY_ONE_SHOT = "spec.execution.timeout";
    private static final String NO_ONE_SHOT = "spec.restart.policy";

    /** Empty when nobody declares it. */
    public static Optional<Declared> of(WorkloadId id, ImmutableList<StoredDeclaration> declarations) {
        ImmutableList<StoredDeclaration> all = declarations.stream()
                .filter(declaration -> declaration.workload().id().equals(id))
                .sorted(Comparator.comparing(StoredDeclaration::source))
                .collect(ImmutableList.toImmutableList());
        return all.isEmpty() ? Optional.empty() : Optional.of(new Declared(all.getFirst(), all.subList(1, all.size())));
    }

    /** "files (/etc/homeostat/desired.d/a.yaml), generation 3". */
    public String by() {
        return SourceConflicts.words(declaration) + ", generation " + declaration.generation();
    }

    /** A document, with its source and what it leaves out as comments. */
    public String yaml() {
        StringBuilder text = new StringBuilder("# declared by " + Text.oneLine(by()) + "\n");
        others.forEach(other -> text.append("# overrules ")
                .append(Text.oneLine(SourceConflicts.words(other)))
                .append("\n"));
        text.append(BlockYaml.of(JSON.convertValue(document(), Object.class)));
        Map<String, String> defaults = defaults();
        if (!defaults.isEmpty()) {
            text.append("# left out: ")
                    .append(Joiner.on(", ").withKeyValueSeparator(": ").join(defaults))
                    .append("\n");
        }
        return text.toString();
    }

    public ObjectNode json() {
        return Json.versioned().setAll(fields());
    }

    /** The fields of {@link #json} that are about the workload. */
    public ObjectNode fields() {
        ObjectNode json = Json.object()
                .put("workload", declaration.workload().id().toString())
                .put("source", declaration.source().word())
                .put("origin", declaration.origin())
                .put("generation", declaration.generation());
        json.set(
                "overrules",
                Json.texts(others.stream().map(other -> other.source().word()).toList()));
        json.set("document", document());
        ObjectNode defaults = json.putObject("defaults");
        defaults().forEach(defaults::put);
        return json;
    }

    /** By path, as a document would say them. */
    private Map<String, String> defaults() {
        JsonNode document = DeclaredSecrets.tree(declaration.workload());
        boolean oneShot = document.at("/spec/execution/type").asText().equals("oneShot");
        return Maps.filterKeys(
                LEFT_OUT,
                path -> !path.equals(oneShot ? NO_ONE_SHOT : ONLY_ONE_SHOT)
                        && document.at("/" + path.replace('.', '/')).isMissingNode());
    }

    private ObjectNode document() {
        JsonNode hidden = Json.object().put("masked", true);
        return ShownDeclaration.of(
                declaration.workload(),
                hidden,
                partly -> Json.object().set("masked", JsonNodeFactory.instance.textNode(partly)));
    }
}
