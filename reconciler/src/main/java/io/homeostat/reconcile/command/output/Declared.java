package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.reconcile.secrets.ShownDeclaration;
import java.util.Comparator;
import java.util.Optional;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;

/**
 * What is declared of a workload, with every default, and by whom. In place of a secret stands a mapping {@code masked}, which nobody can
 * take for its value: no text field accepts one.
 *
 * @param others weaker sources that declare it, too, the strongest first
 */
public record Declared(StoredDeclaration declaration, ImmutableList<StoredDeclaration> others) {
    private static final ObjectMapper JSON = new ObjectMapper();

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

    /** A document, with its source as a comment. */
    public String yaml() {
        StringBuilder text = new StringBuilder("# declared by " + Text.oneLine(by()) + "\n");
        others.forEach(other -> text.append("# overrules ")
                .append(Text.oneLine(SourceConflicts.words(other)))
                .append("\n"));
        DumpSettings settings = DumpSettings.builder()
                .setDefaultFlowStyle(FlowStyle.BLOCK)
                .setSplitLines(false)
                .build();
        return text + new Dump(settings).dumpToString(JSON.convertValue(document(), Object.class));
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
        return json;
    }

    private ObjectNode document() {
        JsonNode hidden = Json.object().put("masked", true);
        return ShownDeclaration.of(
                declaration.workload(),
                hidden,
                partly -> Json.object().set("masked", JsonNodeFactory.instance.textNode(partly)));
    }
}
