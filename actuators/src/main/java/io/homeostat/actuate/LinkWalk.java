package io.homeostat.actuate;

import io.homeostat.actuate.StagedTree.Node;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Follows paths through the symlinks of an archive as the kernel would, on paper: nothing is on disk yet. */
final class LinkWalk {
    /** As many as Linux follows (path_resolution(7)). */
    private static final int MAX_LINKS = 40;

    private final Map<String, Node> nodes;

    LinkWalk(Map<String, Node> nodes) {
        this.nodes = nodes;
    }

    /** Refuses a symlink that leads out of the root or round in circles; one to something that is not there harms nobody. */
    void requireInside(String link) throws Refusal {
        String _ = follow(link);
    }

    /** What a path names when its symlinks are followed; empty when that is not in the archive. */
    Optional<Node> resolve(String path) throws Refusal {
        return Optional.ofNullable(nodes.get(follow(path)));
    }

    private String follow(String path) throws Refusal {
        Deque<String> ahead = new ArrayDeque<>(List.of(path.split("/", -1)));
        List<String> at = new ArrayList<>();
        int links = 0;
        while (!ahead.isEmpty()) {
            String component = ahead.pop();
            if (component.isEmpty() || component.equals(".")) {
                continue;
            }
            if (component.equals("..")) {
                if (at.isEmpty()) {
                    throw Refusal.entry(path, "is a symlink that leads out of the archive");
                }
                at.removeLast();
                continue;
            }
            at.add(component);
            if (nodes.get(String.join("/", at)) instanceof Node.Link(String target)) {
                links++;
                if (links > MAX_LINKS) {
                    throw Refusal.entry(path, "is a symlink that leads round in circles");
                }
                at.removeLast();
                List<String> more = EntryName.target(path, target);
                for (int i = more.size() - 1; i >= 0; i--) {
                    ahead.push(more.get(i));
                }
            }
        }
        return String.join("/", at);
    }
}
