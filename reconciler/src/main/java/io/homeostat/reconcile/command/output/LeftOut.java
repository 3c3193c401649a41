package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import java.io.PrintStream;

/** Documents that are not for this machine, and why; the form is a public interface. */
public final class LeftOut {
    /** A set may have documents for ten thousand machines. */
    private static final int SHOWN = 20;

    private LeftOut() {}

    /** A section that begins with an empty line; nothing when there are none. */
    public static void print(ImmutableList<NotHere> documents, PrintStream out) {
        if (documents.isEmpty()) {
            return;
        }
        out.println();
        out.println("Not for this machine:");
        documents.stream().limit(SHOWN).forEach(one -> out.println("  " + line(one)));
        if (documents.size() > SHOWN) {
            out.println("  and " + (documents.size() - SHOWN) + " more; -o json shows all");
        }
    }

    /** One of them, with its revision and the reason. */
    public static String line(NotHere one) {
        return Text.oneLine(one.read().workload().id() + revision(one) + ": " + one.reason());
    }

    private static String revision(NotHere one) {
        String revision = one.read().workload().revision();
        return revision.isEmpty() ? "" : " " + revision;
    }

    /** All of them. */
    public static ArrayNode json(ImmutableList<NotHere> documents) {
        return Json.array(documents, one -> {
            ObjectNode json = Json.object()
                    .put("workload", one.read().workload().id().toString())
                    .put("revision", one.read().workload().revision())
                    .put("file", one.read().file())
                    .put("line", one.read().line())
                    .put("reason", one.reason());
            one.rollout().ifPresent(rollout -> json.put("rollout", rollout));
            return json;
        });
    }
}
