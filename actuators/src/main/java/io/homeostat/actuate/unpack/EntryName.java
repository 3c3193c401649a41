package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Joiner;
import com.google.common.base.Splitter;
import io.homeostat.desired.model.VisibleText;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Checks the names of an archive's entries. */
final class EntryName {
    private static final Splitter SLASHES = Splitter.on('/');
    private static final Joiner SLASH = Joiner.on('/');
    private static final Pattern DRIVE = Pattern.compile("[A-Za-z]:.*");

    private static final int MAX_BYTES = 2048;
    private static final int MAX_COMPONENT_BYTES = 255;

    /** Deeper than any program; deleting a directory needs an open descriptor for each level. */
    private static final int MAX_DEPTH = 100;

    private EntryName() {}

    /**
     * The name as a path below the root, without {@code .} and empty components; empty for the root itself.
     *
     * @throws RefusedArchive when it leads outside, or somewhere else than it seems to
     */
    static String normal(String raw) throws RefusedArchive {
        checkCharacters(raw);
        if (raw.startsWith("/")) {
            throw RefusedArchive.entry(raw, "has an absolute name");
        }
        // On Linux a backslash is an ordinary character, but whoever wrote one may have meant a separator, and to
        // escape with it.
        String slashed = raw.replace('\\', '/');
        if (!slashed.equals(raw)
                && (slashed.startsWith("/")
                        || DRIVE.matcher(raw).matches()
                        || SLASHES.splitToList(slashed).contains(".."))) {
            throw RefusedArchive.entry(raw, "leads out of its directory by backslashes");
        }
        List<String> components = new ArrayList<>();
        for (String component : SLASHES.split(raw)) {
            if (component.equals("..")) {
                throw RefusedArchive.entry(raw, "has '..' in its name");
            }
            if (component.getBytes(UTF_8).length > MAX_COMPONENT_BYTES) {
                throw RefusedArchive.entry(raw, "has a name longer than " + MAX_COMPONENT_BYTES + " bytes");
            }
            if (!component.isEmpty() && !component.equals(".")) {
                components.add(component);
            }
        }
        if (raw.getBytes(UTF_8).length > MAX_BYTES || components.size() > MAX_DEPTH) {
            throw RefusedArchive.entry(
                    raw, "has a path longer than " + MAX_BYTES + " bytes or deeper than " + MAX_DEPTH + " directories");
        }
        return SLASH.join(components);
    }

    /** Whether a symlink's target may be examined component by component. */
    static List<String> target(String link, String target) throws RefusedArchive {
        checkCharacters(target);
        if (target.isEmpty() || target.getBytes(UTF_8).length > MAX_BYTES) {
            throw RefusedArchive.entry(link, "is a symlink to nothing or to an overlong path");
        }
        if (target.startsWith("/")) {
            throw RefusedArchive.entry(link, "is a symlink to the absolute path '" + shown(target) + "'");
        }
        return SLASHES.splitToList(target);
    }

    static String parent(String name) {
        return name.substring(0, Math.max(name.lastIndexOf('/'), 0));
    }

    static String last(String name) {
        return name.substring(name.lastIndexOf('/') + 1);
    }

    /** A name for a message: shortened, and without anything that moves a terminal's cursor. */
    static String shown(String raw) {
        return VisibleText.line(VisibleText.cut(raw, 200));
    }

    private static void checkCharacters(String raw) throws RefusedArchive {
        for (int i = 0; i < raw.length(); i++) {
            if (Character.isISOControl(raw.charAt(i))) {
                throw RefusedArchive.entry(raw, "has a control character in its name");
            }
        }
    }
}
