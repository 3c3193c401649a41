package io.homeostat.reconcile.status;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Change;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.SecretMask;
import io.homeostat.reconcile.secrets.ShownDeclaration;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * In what two declarations of one workload differ, value by value. Compared is the stored form, which has every field of the model, so
 * that none can be overlooked.
 */
public final class Differences {
    private static final ImmutableSet<String> LIFECYCLE = Arrays.stream(Lifecycle.class.getRecordComponents())
            .map(RecordComponent::getName)
            .collect(ImmutableSet.toImmutableSet());

    private static final Pattern COMMAND = Pattern.compile("spec\\.(?:arguments|(?:probe|reload)\\.exec\\.command)");

    private Differences() {}

    /** What of a workload is declared otherwise; nothing when it is declared no more. */
    public static ImmutableList<Change> between(DesiredState before, DesiredState after, WorkloadId id) {
        Declaration old = before.get(id).orElse(null);
        Declaration wanted = after.get(id).orElse(null);
        if (old == null && wanted != null) {
            return WorkloadPlan.NEWLY_DECLARED;
        }
        return old == null || wanted == null || old.hash().equals(wanted.hash())
                ? ImmutableList.of()
                : between(old.workload(), wanted.workload());
    }

    /**
     * A plan with what differs: from what runs, where that is what is changed; else from what is declared. What differs and takes no step
     * is an update in place.
     *
     * @param declared what is stored; null when nothing is
     * @param wanted what the plan is for; null when nothing is
     */
    static WorkloadPlan shown(
            WorkloadPlan plan, @Nullable Declaration declared, @Nullable Declaration wanted, WorkloadHistory history) {
        if (wanted == null) {
            return plan;
        }
        boolean atRest = plan.action() == Action.NONE;
        if (atRest && declared == null) {
            return plan.updatedInPlace(WorkloadPlan.NEWLY_DECLARED);
        }
        LastKnownGood lastKnownGood = history.lastKnownGood();
        FailedRevision undone = history.undone(wanted.hash()).orElse(null);
        LastKnownGood runs = undone == null ? null : undone.meanwhile();
        if (lastKnownGood != null
                && (plan.action() == Action.ROLLBACK || (plan.action() == Action.WAIT && runs != null))) {
            // What is declared, or stands in for it already, is to be replaced by the last good revision.
            return plan.withChanges(
                    between(runs == null ? wanted.workload() : runs.workload(), lastKnownGood.workload()));
        }
        Workload before = !atRest && !plan.reason().isDrift() && lastKnownGood != null
                ? lastKnownGood.workload()
                : declared == null || declared.hash().equals(wanted.hash()) ? null : declared.workload();
        if (before == null) {
            return plan;
        }
        ImmutableList<Change> changes = between(before, wanted.workload());
        if (changes.isEmpty()) {
            return plan;
        }
        if (atRest) {
            return plan.updatedInPlace(changes);
        }
        WorkloadPlan shown = plan.withChanges(changes);
        return changes.stream().anyMatch(Differences::isSetting) ? shown.also(Reason.SETTINGS_CHANGED) : shown;
    }

    /** Whether no instance has to take it: whoever enforces goes by it. */
    private static boolean isSetting(Change change) {
        List<String> keys = Splitter.on('.').splitToList(change.path());
        String field = keys.get(1);
        return !keys.getFirst().equals("spec")
                || field.equals("probe")
                || field.equals("reload")
                || (field.equals("source") && !keys.getLast().equals("sha256"))
                || (!field.equals("limits") && LIFECYCLE.contains(field));
    }

    /** In the order of the model, fields that are gone at their end. */
    static ImmutableList<Change> between(Workload before, Workload after) {
        Map<String, Value> old = values(before);
        Map<String, Value> wanted = values(after);
        return Sets.union(wanted.keySet(), old.keySet()).stream()
                .flatMap(path -> changes(path, old.get(path), wanted.get(path)))
                .collect(ImmutableList.toImmutableList());
    }

    /** Of two commands the words that differ; those with which both begin or end are left out. */
    private static Stream<Change> changes(String path, @Nullable Value before, @Nullable Value after) {
        if (before == null || after == null || !COMMAND.matcher(path).matches()) {
            return change(path, before, after).stream();
        }
        List<Value> old = before.words();
        List<Value> wanted = after.words();
        int shorter = Math.min(old.size(), wanted.size());
        int from = 0;
        while (from < shorter && old.get(from).equals(wanted.get(from))) {
            from++;
        }
        int same = 0;
        while (same < shorter - from && old.get(old.size() - 1 - same).equals(wanted.get(wanted.size() - 1 - same))) {
            same++;
        }
        int oldEnd = old.size() - same;
        int wantedEnd = wanted.size() - same;
        return IntStream.range(from, Math.max(oldEnd, wantedEnd))
                .mapToObj(i -> change(
                        path + "[" + i + "]", i < oldEnd ? old.get(i) : null, i < wantedEnd ? wanted.get(i) : null))
                .flatMap(Optional::stream);
    }

    private static Optional<Change> change(String path, @Nullable Value before, @Nullable Value after) {
        return Objects.equals(json(before), json(after))
                ? Optional.empty()
                : Optional.of(new Change(path, shown(before), shownAfter(shown(before), shown(after))));
    }

    /** Where both sides would read alike, only what is masked differs. */
    private static @Nullable String shownAfter(@Nullable String before, @Nullable String after) {
        if (after == null || !after.equals(before)) {
            return after;
        }
        return after.indexOf(SecretMask.MASK) == after.lastIndexOf(SecretMask.MASK)
                ? after.replace(SecretMask.MASK, "(masked, another value)")
                : after + " (another masked value)";
    }

    /** @param shown without secrets */
    private record Value(JsonNode json, String shown, ImmutableList<Value> words) {
        static Value of(JsonNode json, JsonNode shown) {
            ImmutableList.Builder<Value> words = ImmutableList.builder();
            if (json.isArray() && shown.isArray()) {
                for (int i = 0; i < json.size(); i++) {
                    words.add(of(json.get(i), shown.get(i)));
                }
            }
            return new Value(json, shown.isTextual() ? shown.textValue() : shown.toString(), words.build());
        }
    }

    private static @Nullable JsonNode json(@Nullable Value value) {
        return value == null ? null : value.json();
    }

    private static @Nullable String shown(@Nullable Value value) {
        return value == null ? null : value.shown();
    }

    private static Map<String, Value> values(Workload workload) {
        Map<String, Value> values = new LinkedHashMap<>();
        JsonNode hidden = JsonNodeFactory.instance.textNode(SecretMask.MASK);
        collect(
                "",
                DeclaredSecrets.tree(workload),
                ShownDeclaration.of(workload, hidden, JsonNodeFactory.instance::textNode),
                values);
        return values;
    }

    /** A structure that is hidden as a whole is one value. */
    private static void collect(String path, JsonNode json, JsonNode shown, Map<String, Value> values) {
        if (json.isObject() && shown.isObject()) {
            String prefix = path.isEmpty() ? "" : path + ".";
            json.properties()
                    .forEach(field ->
                            collect(prefix + field.getKey(), field.getValue(), shown.path(field.getKey()), values));
        } else {
            values.put(path, Value.of(json, shown));
        }
    }
}
