package io.homeostat.desired.yaml;

import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Finds what {@code homeostat get} prints in place of secrets: one error says so, and not one for each that a mapping is no text. */
final class MaskedValues {
    private static final String FREE_FORM = "spec.config.struct";
    private static final int MOST_NAMED = 5;

    private final Map<String, Node> found = new LinkedHashMap<>();
    /** An alias is the very node that it stands for: many of them would make one long way. */
    private final Set<Node> seen = Collections.newSetFromMap(new IdentityHashMap<>());

    private MaskedValues() {}

    /** Whether there are any, which was reported then. */
    static boolean reported(Node spec, Report report) {
        MaskedValues masked = new MaskedValues();
        masked.look("spec", spec);
        if (masked.found.isEmpty()) {
            return false;
        }
        Map.Entry<String, Node> first = masked.found.entrySet().iterator().next();
        int count = masked.found.size();
        String places = masked.found.keySet().stream()
                .limit(MOST_NAMED)
                .map(Binder::shown)
                .collect(Collectors.joining(", "));
        report.error(
                Problem.Kind.VALUE,
                first.getValue(),
                "",
                "this is what homeostat get printed, in which secrets are masked, here " + places
                        + (count > MOST_NAMED ? " and " + (count - MOST_NAMED) + " more" : "")
                        + "; write the " + (count == 1 ? "value" : "values") + " in");
        return true;
    }

    private void look(String path, Node node) {
        if (path.equals(FREE_FORM) || !seen.add(node)) {
            return;
        }
        switch (node) {
            case Scalar scalar -> {}
            case Sequence sequence -> {
                for (int i = 0; i < sequence.elements().size(); i++) {
                    look(path + "[" + i + "]", sequence.elements().get(i));
                }
            }
            case Mapping mapping -> {
                if (isMask(mapping)) {
                    found.put(path, mapping);
                } else {
                    for (Entry entry : mapping.entries()) {
                        look(Binder.join(path, entry.key().text()), entry.value());
                    }
                }
            }
        }
    }

    private static boolean isMask(Mapping mapping) {
        return mapping.entries().size() == 1
                && mapping.entries().getFirst().key().text().equals("masked")
                && mapping.entries().getFirst().value() instanceof Scalar value
                && (value.meaning() == Plain.TRUE || value.text().contains(Redaction.MASK));
    }
}
