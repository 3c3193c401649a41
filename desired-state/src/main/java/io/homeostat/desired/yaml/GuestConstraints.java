package io.homeostat.desired.yaml;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.net.InetAddresses;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.guest.ContainerSettings;
import io.homeostat.desired.model.guest.ContainerSettings.RootFs;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.model.guest.IpPrefix;
import io.homeostat.desired.model.guest.SandboxSettings;
import io.homeostat.desired.yaml.Constraints.Bound;
import io.homeostat.desired.yaml.Constraints.Constraint;
import io.homeostat.desired.yaml.Node.Mapping;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.util.Collection;
import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The rules for what is declared of a guest, beyond what a pattern can say. */
final class GuestConstraints {
    static final ImmutableListMultimap<Class<?>, Constraint> ALL = ImmutableListMultimap.<Class<?>, Constraint>builder()
            .put(SandboxSettings.class, new Parsed("endpoint", GuestEndpoint::parse))
            .put(SandboxSettings.class, new Parsed("dns", GuestConstraints::address))
            .put(SandboxSettings.Network.class, new Distinct("interfaces", "name"))
            .put(SandboxSettings.Network.class, new Distinct("interfaces", "hwAddr"))
            .put(SandboxSettings.Network.class, new Once("routes", ImmutableList.of("dest", "gateway", "device")))
            .put(SandboxSettings.Network.class, new Once("neighbors", ImmutableList.of("address", "device")))
            .put(SandboxSettings.class, new NoLimits())
            .put(SandboxSettings.Interface.class, new Parsed("addresses", IpPrefix::parse))
            .put(SandboxSettings.Route.class, new Parsed("dest", IpPrefix::parse))
            .put(SandboxSettings.Route.class, new Parsed("gateway", GuestConstraints::address))
            .put(SandboxSettings.Route.class, new OneFamily())
            .put(SandboxSettings.Route.class, new WholeNetwork())
            .put(SandboxSettings.Neighbor.class, new Parsed("address", GuestConstraints::address))
            .put(SandboxSettings.Policy.class, new LocalFile())
            .put(ContainerSettings.class, new LimitsOfGuests())
            .put(ContainerSettings.class, new OneRootFs())
            .put(ContainerSettings.Program.class, new NamedProgram())
            .put(ContainerSettings.Mount.class, new SourceOfABind())
            .build();

    private GuestConstraints() {}

    private static void address(String text) {
        if (!InetAddresses.isInetAddress(text) || text.contains("%")) {
            throw new IllegalArgumentException("'" + text + "' is no address of IP, such as 10.0.0.1 or fd00::1");
        }
    }

    /**
     * A text, or each of a list, that can be read.
     *
     * @param parser throws an IllegalArgumentException that says what would be right
     */
    private record Parsed(String key, Consumer<String> parser) implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value(key) == null) {
                return;
            }
            switch (record.written(key)) {
                case Scalar scalar -> problem(scalar.text()).ifPresent(why -> record.errorAtValue(key, why));
                case Sequence sequence -> {
                    for (int i = 0; i < sequence.elements().size(); i++) {
                        if (sequence.elements().get(i) instanceof Scalar scalar) {
                            String place = key + "[" + i + "]";
                            problem(scalar.text()).ifPresent(why -> record.errorAt(scalar, place, why));
                        }
                    }
                }
                case null, default -> {}
            }
        }

        private Optional<String> problem(String text) {
            try {
                parser.accept(text);
                return Optional.empty();
            } catch (IllegalArgumentException e) {
                String quoted = "'" + Binder.shown(text) + "'";
                return Optional.of(CharMatcher.javaIsoControl()
                        .replaceFrom(String.valueOf(e.getMessage()).replace("'" + text + "'", quoted), '?'));
            }
        }
    }

    /** Of two that are called the same only one could be meant. */
    private record Distinct(String list, String key) implements Constraint {
        @Override
        public void check(Bound record) {
            if (!(record.written(list) instanceof Sequence sequence)) {
                return;
            }
            Set<String> seen = new HashSet<>();
            for (int i = 0; i < sequence.elements().size(); i++) {
                if (!(sequence.elements().get(i) instanceof Mapping mapping)) {
                    continue;
                }
                String place = list + "[" + i + "]." + key;
                scalar(mapping, key)
                        .filter(value -> !seen.add(value.text().toLowerCase(Locale.ROOT)))
                        .ifPresent(value -> record.errorAt(
                                value,
                                place,
                                "'" + Binder.shown(value.text()) + "' is there already; write another one"));
            }
        }
    }

    /** Twice the same is refused by some agents, and means nothing to the others. */
    private record Once(String list, ImmutableList<String> keys) implements Constraint {
        @Override
        public void check(Bound record) {
            if (!(record.written(list) instanceof Sequence sequence)) {
                return;
            }
            Set<ImmutableList<String>> seen = new HashSet<>();
            for (int i = 0; i < sequence.elements().size(); i++) {
                Node element = sequence.elements().get(i);
                if (element instanceof Mapping mapping && !seen.add(values(mapping))) {
                    record.errorAt(
                            element,
                            list + "[" + i + "]",
                            "one of the same " + String.join(", ", keys) + " is there already; remove one of them");
                }
            }
        }

        private ImmutableList<String> values(Mapping element) {
            return keys.stream()
                    .map(key -> scalar(element, key)
                            .map(value -> value.text().toLowerCase(Locale.ROOT))
                            .orElse(""))
                    .collect(ImmutableList.toImmutableList());
        }
    }

    private static Optional<Scalar> scalar(Mapping mapping, String key) {
        return mapping.entries().stream()
                .filter(entry -> entry.key().text().equals(key))
                .flatMap(entry -> entry.value() instanceof Scalar scalar ? Stream.of(scalar) : Stream.empty())
                .findFirst();
    }

    private static final class OneFamily implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("dest") instanceof String dest
                    && record.value("gateway") instanceof String gateway
                    && InetAddresses.isInetAddress(gateway)
                    && isPrefix(dest)
                    && IpPrefix.parse(dest).isV6() != gateway.contains(":")) {
                record.errorAtValue("gateway", "is of another version of IP than dest; write one of the same version");
            }
        }
    }

    private static boolean isPrefix(String text) {
        try {
            return IpPrefix.parse(text).length() >= 0;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** A kernel takes no route to a part of a network that is called by one of its hosts. */
    private static final class WholeNetwork implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("dest") instanceof String dest && isPrefix(dest)) {
                IpPrefix parsed = IpPrefix.parse(dest);
                if (!parsed.network().equals(parsed)) {
                    record.errorAtValue("dest", "is a host in a network; write " + parsed.network());
                }
            }
        }
    }

    private static final class NamedProgram implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.written("command") instanceof Sequence sequence
                    && !sequence.elements().isEmpty()
                    && sequence.elements().get(0) instanceof Scalar first
                    && first.text().isEmpty()) {
                record.errorAt(first, "command[0]", "is empty; write the program");
            }
        }
    }

    /** What limits a machine is whoever runs it. */
    private static final class NoLimits implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("limits") instanceof Limits limits && !limits.equals(Limits.NONE)) {
                record.errorAtKey(
                        "limits",
                        "a Sandbox has none of its own; limit the Process of its virtual machine or its Containers, and"
                                + " remove them here");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode limits = Constraints.limits(allOf);
            ImmutableList.of("memory", "cpu", "memoryMax", "cores", "pids").forEach(key -> limits.put(key, false));
            ImmutableList.of("required", "oomGroup")
                    .forEach(key -> limits.putObject(key).put("const", false));
        }
    }

    /** A container has one, which is somewhere in the guest or is copied there. */
    private static final class OneRootFs implements Constraint {
        @Override
        public void check(Bound record) {
            if (!(record.value("rootfs") instanceof RootFs rootfs)) {
                return;
            }
            boolean isThere = rootfs.path() != null || rootfs.storage() != null;
            if (record.has("source")) {
                if (isThere) {
                    record.errorAtKey(
                            "rootfs", "not possible beside source, which is copied into the guest; remove one of them");
                }
            } else if (!record.mayHave("rootfs")) {
                record.missing(
                        "rootfs",
                        "required key 'rootfs' is missing; write the path of one in the guest, or a source beside it");
            } else if (!isThere) {
                record.errorAtKey("rootfs", "needs a path or a storage, or a source beside it");
            } else if (rootfs.path() != null && rootfs.storage() != null) {
                record.errorAtKey("rootfs", "only one of path and storage is possible; remove one");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode rule = allOf.addObject();
            rule.putObject("if").putArray("required").add("source");
            ObjectNode there = rule.putObject("then")
                    .putObject("properties")
                    .putObject("rootfs")
                    .putObject("properties");
            there.put("path", false).put("storage", false);
            ObjectNode otherwise = rule.putObject("else");
            otherwise.putArray("required").add("rootfs");
            ArrayNode oneOf =
                    otherwise.putObject("properties").putObject("rootfs").putArray("oneOf");
            oneOf.addObject().putArray("required").add("path");
            oneOf.addObject().putArray("required").add("storage");
        }
    }

    /** All but a bind may be of nothing. It is one by its type, and also by its options. */
    private static final class SourceOfABind implements Constraint {
        @Override
        public void check(Bound record) {
            boolean binds = "bind".equals(record.value("type"))
                    || (record.value("options") instanceof Collection<?> options
                            && (options.contains("bind") || options.contains("rbind")));
            if (binds && record.value("source") instanceof String source && !source.startsWith("/")) {
                record.errorAtValue("source", "is no absolute path of the guest; write one, or another type");
            }
            if (binds && record.value("source") == null && !record.has("source")) {
                record.missing(
                        "source", "required key 'source' is missing; write a path of the guest, or another type");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode rule = allOf.addObject();
            ArrayNode binds = rule.putObject("if").putArray("anyOf");
            binds.addObject().putObject("properties").putObject("type").put("const", "bind");
            ObjectNode byOptions = binds.addObject();
            byOptions.putArray("required").add("options");
            byOptions
                    .putObject("properties")
                    .putObject("options")
                    .putObject("contains")
                    .putArray("enum")
                    .add("bind")
                    .add("rbind");
            rule.putObject("then").putArray("required").add("source");
        }
    }

    /** What only this machine could enforce. */
    private static final class LimitsOfGuests implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("limits") instanceof Limits limits
                    && (limits.memoryMax() != null
                            || limits.cores() != null
                            || limits.oomGroup()
                            || limits.required())) {
                record.errorAtKey(
                        "limits", "a Container has memory, cpu and pids, which its guest enforces; remove the others");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            ObjectNode limits = Constraints.limits(allOf);
            ImmutableList.of("memoryMax", "cores").forEach(key -> limits.put(key, false));
            ImmutableList.of("required", "oomGroup")
                    .forEach(key -> limits.putObject(key).put("const", false));
        }
    }

    /** What is sent to a guest is never fetched. */
    private static final class LocalFile implements Constraint {
        @Override
        public void check(Bound record) {
            if (record.value("file") instanceof String url && !url.startsWith("file:")) {
                record.errorAtValue("file", "has to be a file of this machine; write its path");
            }
        }

        @Override
        public void schema(ArrayNode allOf) {
            allOf.addObject()
                    .putObject("properties")
                    .putObject("file")
                    .putObject("not")
                    .put("pattern", "^[Hh][Tt][Tt][Pp][Ss]?:");
        }
    }
}
