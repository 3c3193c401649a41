package io.homeostat.actuate.unpack;

import io.homeostat.actuate.unpack.StagedTree.Node;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Follows paths through the symlinks of an archive as the kernel would, on paper: nothing is on disk yet. */
final class LinkWalk {
    /** As many as Linux follows (path_resolution(7)). */
    private static final int MAX_LINKS = 40;

    /** Characters of paths that are looked up for all links together; a second or two. */
    private static final long MAX_WORK = 1L << 28;

    private final Map<String, Node> nodes;
    private long work;

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
        StringBuilder at = new StringBuilder();
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
                at.setLength(Math.max(at.lastIndexOf("/"), 0));
                continue;
            }
            int parent = at.length();
            at.append(parent == 0 ? "" : "/").append(component);
            String reached = at.toString();
            work += reached.length();
            if (work > MAX_WORK) {
                throw Refusal.entry(path, "is one of more symlinks than can be followed; they are long and tangled");
            }
            if (nodes.get(reached) instanceof Node.Link(String target)) {
                links++;
                if (links > MAX_LINKS) {
                    throw Refusal.entry(path, "is a symlink that leads round in circles");
                }
                at.setLength(parent);
                List<String> more = EntryName.target(path, target);
                for (int i = more.size() - 1; i >= 0; i--) {
                    ahead.push(more.get(i));
                }
            }
        }
        return at.toString();
    }
}
