package io.homeostat.desired.yaml;

import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadWorkload;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.desired.yaml.Node.Entry;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Sequence;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Where the fields of documents stand, for what is found wrong with them after they were read. Nobody keeps the places meanwhile: the
 * texts are read again when one is asked for. Not for use by several threads.
 */
public final class DocumentPlaces {
    private final Texts texts;
    private final Map<Input.Text, List<Node>> roots = new HashMap<>();

    /** @param texts of which the documents were read */
    public DocumentPlaces(Texts texts) {
        this.texts = texts;
    }

    /**
     * A problem at a field, or where that should be.
     *
     * @param path a String for a key, an Integer for an index from 0
     * @param detail what is wrong and what would be right
     */
    public Problem problem(ReadWorkload read, List<?> path, String detail) {
        Problem at = note(read, path, detail);
        return new Problem(at.kind(), "", at.file(), at.line(), at.column(), words(path), detail);
    }

    /** The same without naming the field. */
    public Problem note(ReadWorkload read, List<?> path, String detail) {
        return document(read)
                .map(root -> place(root, path))
                .map(node -> new Problem(Problem.Kind.VALUE, read.file(), node.line(), node.column(), detail))
                .orElseGet(() -> new Problem(Problem.Kind.VALUE, read.file(), read.line(), 1, detail));
    }

    private Optional<Node> document(ReadWorkload read) {
        return texts.texts().stream()
                .filter(text -> text.name().equals(read.file()) && text.input().equals(read.input()))
                .flatMap(text -> roots.computeIfAbsent(text, DocumentPlaces::roots).stream())
                .filter(root -> root.line() == read.line())
                .findFirst();
    }

    private static List<Node> roots(Input.Text text) {
        List<Node> roots = new ArrayList<>();
        YamlText.read(text.text(), new Report(text.name()), roots::add);
        return roots;
    }

    /** The last key or element on the way there is. */
    private static Node place(Node root, List<?> path) {
        Node place = root;
        Node node = root;
        for (Object step : path) {
            Node found;
            if (node instanceof Mapping mapping && step instanceof String key) {
                Optional<Entry> entry = mapping.entries().stream()
                        .filter(each -> each.key().text().equals(key))
                        .findFirst();
                if (entry.isEmpty()) {
                    return place;
                }
                place = entry.get().key();
                found = entry.get().value();
            } else if (node instanceof Sequence sequence
                    && step instanceof Integer index
                    && index < sequence.elements().size()) {
                found = sequence.elements().get(index);
                place = found;
            } else {
                return place;
            }
            node = found;
        }
        return place;
    }

    /** {@code spec.config.args[0].name}. */
    private static String words(List<?> path) {
        StringBuilder words = new StringBuilder();
        for (Object step : path) {
            words.append(step instanceof Integer ? "[" + step + "]" : (words.isEmpty() ? "" : ".") + step);
        }
        return words.toString();
    }
}
