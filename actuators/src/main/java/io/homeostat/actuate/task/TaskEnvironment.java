package io.homeostat.actuate.task;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import java.nio.file.Path;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The variables by which a task of Nomad knows what and where it is. Pure. */
public final class TaskEnvironment {
    private static final String PREFIX = "NOMAD_";
    private static final int SHORT_ID = 8;
    private static final Pattern NOT_IN_A_NAME = Pattern.compile("[^A-Za-z0-9_]");

    private TaskEnvironment() {}

    /**
     * What a task is told besides its directories. What is blank is left out.
     *
     * @param memoryMib its limit, in MiB
     * @param cpuMhz its share of the processors, in MHz
     * @param cores the processors that it has for itself, such as "2-3,7"
     * @param meta any names; what can't be in the name of a variable becomes {@code _}
     */
    public record Facts(
            String job,
            String group,
            int index,
            String datacenter,
            String region,
            String namespace,
            OptionalLong memoryMib,
            OptionalLong cpuMhz,
            String cores,
            ImmutableMap<String, String> meta,
            ImmutableList<Port> ports) {}

    /**
     * A port that the task may use.
     *
     * @param inside at which the task listens
     * @param outside at which others reach it, at this address
     */
    public record Port(String label, String address, int inside, int outside) {}

    /** Never empty: a driver would give a task without variables its own, which are not meant for it. */
    public static ImmutableSortedMap<String, String> of(TaskPlace place, Isolation isolation, Facts facts) {
        SortedMap<String, String> variables = new TreeMap<>();
        directories(place, isolation, variables);
        put(variables, "ALLOC_ID", place.allocation());
        put(
                variables,
                "SHORT_ALLOC_ID",
                place.allocation()
                        .substring(0, Math.min(SHORT_ID, place.allocation().length())));
        put(variables, "ALLOC_NAME", facts.job() + "." + facts.group() + "[" + facts.index() + "]");
        put(variables, "ALLOC_INDEX", Integer.toString(facts.index()));
        put(variables, "TASK_NAME", place.task());
        put(variables, "GROUP_NAME", facts.group());
        put(variables, "JOB_ID", facts.job());
        put(variables, "JOB_NAME", facts.job());
        put(variables, "DC", facts.datacenter());
        put(variables, "REGION", facts.region());
        put(variables, "NAMESPACE", facts.namespace());
        facts.memoryMib().ifPresent(mib -> put(variables, "MEMORY_LIMIT", Long.toString(mib)));
        facts.cpuMhz().ifPresent(mhz -> put(variables, "CPU_LIMIT", Long.toString(mhz)));
        put(variables, "CPU_CORES", facts.cores());
        facts.meta().forEach((name, value) -> {
            variables.put(PREFIX + "META_" + inAName(name), value);
            variables.put(PREFIX + "META_" + inAName(name).toUpperCase(Locale.ROOT), value);
        });
        for (Port port : facts.ports()) {
            String label = inAName(port.label());
            put(variables, "PORT_" + label, Integer.toString(port.inside()));
            put(variables, "HOST_PORT_" + label, Integer.toString(port.outside()));
            put(variables, "IP_" + label, port.address());
            put(variables, "ADDR_" + label, bracketed(port.address()) + ":" + port.outside());
        }
        return ImmutableSortedMap.copyOf(variables);
    }

    private static void directories(TaskPlace place, Isolation isolation, SortedMap<String, String> variables) {
        switch (isolation) {
            case NONE -> directories(variables, place.shared(), place.local(), place.secrets());
            case CHROOT, IMAGE -> directories(variables, Path.of("/alloc"), Path.of("/local"), Path.of("/secrets"));
            case UNVEIL -> {
                Path seen = place.unveiled();
                directories(
                        variables,
                        seen.resolve(place.directory().relativize(place.sharedInside())),
                        seen.resolve(place.directory().relativize(place.local())),
                        seen.resolve(place.directory().relativize(place.secrets())));
            }
        }
    }

    private static void directories(SortedMap<String, String> variables, Path shared, Path local, Path secrets) {
        put(variables, "ALLOC_DIR", shared.toString());
        put(variables, "TASK_DIR", local.toString());
        put(variables, "SECRETS_DIR", secrets.toString());
    }

    private static void put(SortedMap<String, String> variables, String name, String value) {
        if (!value.isBlank()) {
            variables.put(PREFIX + name, value);
        }
    }

    private static String inAName(String text) {
        return NOT_IN_A_NAME.matcher(text).replaceAll("_");
    }

    private static String bracketed(String address) {
        return address.contains(":") ? "[" + address + "]" : address;
    }
}
