package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.hash.Hashing;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.files.FileContent;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Compares the files that an instance is made to read again with what it has read ({@link Instance#watched}). What cannot be read now is
 * no change; what could not be read and now can is one.
 */
public final class WatchedFiles {
    private static final String UNREADABLE = "";

    private WatchedFiles() {}

    /** What an instance reads that is launched after this look. */
    public static ImmutableSortedMap<String, String> atLaunch(Traits traits, ImmutableMap<String, FileContent> seen) {
        return known(ImmutableSortedMap.of(), traits, seen);
    }

    /** What an instance has read: where that is not known, it counts as what is there now. What is not watched any more is forgotten. */
    public static ImmutableSortedMap<String, String> read(
            Instance instance, Traits traits, ImmutableMap<String, FileContent> seen) {
        return known(instance.watched(), traits, seen);
    }

    private static ImmutableSortedMap<String, String> known(
            Map<String, String> before, Traits traits, ImmutableMap<String, FileContent> seen) {
        Map<String, String> known = new TreeMap<>();
        for (String path : traits.watched()) {
            String digest = before.get(path);
            FileContent content = seen.get(path);
            if (digest != null) {
                known.put(path, digest);
            } else if (content != null) {
                known.put(path, content instanceof FileContent.Present present ? present.sha256() : UNREADABLE);
            }
        }
        return ImmutableSortedMap.copyOf(known);
    }

    /** Those that have another content than the instance has read. */
    static ImmutableSortedSet<String> changed(
            Instance instance, Traits traits, ImmutableMap<String, FileContent> seen) {
        return traits.watched().stream()
                .filter(path -> seen.get(path) instanceof FileContent.Present present
                        && !present.sha256().equals(instance.watched().getOrDefault(path, present.sha256())))
                .collect(ImmutableSortedSet.toImmutableSortedSet(String::compareTo));
    }

    /** What the instance will have read after it was made to. */
    static ImmutableSortedMap<String, String> afterwards(
            Instance instance, Traits traits, ImmutableMap<String, FileContent> seen) {
        Map<String, String> all = new TreeMap<>(instance.watched());
        for (String path : changed(instance, traits, seen)) {
            if (seen.get(path) instanceof FileContent.Present present) {
                all.put(path, present.sha256());
            }
        }
        return ImmutableSortedMap.copyOf(all);
    }

    /** Which of them can't be read, and why, for people; empty when all can. */
    static Optional<String> unreadable(Traits traits, ImmutableMap<String, FileContent> seen) {
        String words = traits.watched().stream()
                .flatMap(path ->
                        Optional.ofNullable(seen.get(path))
                                .flatMap(content -> content.problem(FileContent.Use.BYTES))
                                .stream()
                                .map(why -> "watched file " + path + " can't be read: " + why))
                .collect(Collectors.joining("; "));
        return words.isEmpty() ? Optional.empty() : Optional.of(words);
    }

    /** By which contents are told from others. */
    public static String hash(ImmutableSortedMap<String, String> files) {
        return Hashing.sha256()
                .hashString(files.toString(), StandardCharsets.UTF_8)
                .toString();
    }
}
