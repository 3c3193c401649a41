package io.homeostat.actuate.unpack;

import io.homeostat.actuate.unpack.StagedTree.Node;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Whether the program that a declaration wants to run is in an archive. */
final class EntryPoint {
    private static final int CANDIDATES = 5;

    private EntryPoint() {}

    /** What is wrong with an entry point, with what may have been meant; empty when nothing is. */
    static Optional<String> problem(Map<String, Node> nodes, String entryPoint) {
        String wrong;
        try {
            String name = EntryName.normal(entryPoint);
            wrong = switch (new LinkWalk(nodes).resolve(name).orElse(null)) {
                case null -> "is not in the archive";
                case Node.Link(String target) -> "is a symlink to '" + EntryName.shown(target) + "'";
                case Node.Directory() -> "is a directory";
                case Node.File file -> file.executable() ? "" : "is not executable";
            };
        } catch (Refusal e) {
            wrong = "is not a path inside the archive";
        }
        return wrong.isEmpty()
                ? Optional.empty()
                : Optional.of("the entry point '" + EntryName.shown(entryPoint) + "' " + wrong + "; "
                        + candidates(nodes, entryPoint));
    }

    private static String candidates(Map<String, Node> nodes, String entryPoint) {
        String wanted = EntryName.last(entryPoint);
        List<String> executables = nodes.entrySet().stream()
                .filter(each -> each.getValue() instanceof Node.File file && file.executable())
                .map(Map.Entry::getKey)
                .sorted(Comparator.comparing(
                                (String name) -> !EntryName.last(name).equals(wanted))
                        .thenComparingInt(String::length)
                        .thenComparing(Comparator.naturalOrder()))
                .toList();
        if (executables.isEmpty()) {
            return "no file in the archive is executable";
        }
        String shown =
                executables.stream().limit(CANDIDATES).map(EntryName::shown).collect(Collectors.joining(", "));
        return "executable are " + shown
                + (executables.size() > CANDIDATES ? " and " + (executables.size() - CANDIDATES) + " more" : "");
    }
}
