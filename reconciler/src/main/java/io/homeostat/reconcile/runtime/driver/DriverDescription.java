package io.homeostat.reconcile.runtime.driver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Ascii;
import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import io.homeostat.observe.SelfDescription;
import io.homeostat.observe.SelfDescription.Section;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.Fingerprint;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.DriverCapabilities.MountConfigs;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** What drivers say of themselves, in the words of people and in JSON. */
final class DriverDescription {
    private static final String NAME = "driver";
    private static final String TITLE = "Driver";

    private DriverDescription() {}

    /** Of one that could not be asked. */
    static SelfDescription unknown(String why) {
        return new SelfDescription(
                NAME,
                JsonNodeFactory.instance.objectNode().put("problem", why),
                ImmutableList.of(new Section(TITLE, ImmutableList.of(why))));
    }

    static SelfDescription of(DriverSession.Info plugin, Fingerprint fingerprint, DriverCapabilities capabilities) {
        String isolation = Ascii.toLowerCase(capabilities.getFsIsolation().name());
        List<String> networks = capabilities.getNetworkIsolationModesList().stream()
                .map(mode -> Ascii.toLowerCase(mode.name()))
                .distinct()
                .toList();
        boolean mounts = capabilities.getMountConfigs() != MountConfigs.NO_MOUNTS;
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.putObject("plugin")
                .put("name", plugin.name())
                .put("version", plugin.version())
                .put("apiVersion", plugin.api());
        json.putObject("health")
                .put("state", Ascii.toLowerCase(fingerprint.state().name()))
                .put("description", fingerprint.description())
                .put("toldAt", fingerprint.at().toString());
        ObjectNode can = json.putObject("capabilities")
                .put("signals", capabilities.getSendSignals())
                .put("exec", capabilities.getExec())
                .put("fileSystem", isolation)
                .put("makesNetworks", capabilities.getMustCreateNetwork())
                .put("mounts", mounts)
                .put("users", capabilities.getDynamicWorkloadUsers())
                .put("logs", !capabilities.getDisableLogCollection());
        ArrayNode modes = can.putArray("networks");
        networks.forEach(modes::add);
        ArrayNode attributes = json.putArray("attributes");
        fingerprint
                .attributes()
                .forEach(each -> attributes
                        .addObject()
                        .put("name", each.name())
                        .put("value", each.value())
                        .put("unit", each.unit()));
        json.put("attributesLeftOut", fingerprint.leftOut());

        List<String> lines = new ArrayList<>();
        lines.add("plugin       " + plugin.name() + " " + plugin.version() + ", API " + plugin.api());
        lines.add("health       " + fingerprint.words() + ", said at " + fingerprint.at());
        lines.add("signals      " + (capabilities.getSendSignals() ? "sent to tasks" : "not sent to tasks"));
        lines.add("commands     " + (capabilities.getExec() ? "run inside tasks" : "not run inside tasks"));
        lines.add("file system  "
                + switch (capabilities.getFsIsolation()) {
                    case NONE -> "that of the host";
                    case CHROOT -> "a root directory of its own for each task (chroot)";
                    case IMAGE -> "that of the task's image";
                    case UNVEIL -> "that of the host, as far as it is let see (unveil)";
                    case UNRECOGNIZED -> "of an unknown kind";
                });
        lines.add("networks     " + (networks.isEmpty() ? "that of the host" : String.join(", ", networks))
                + (capabilities.getMustCreateNetwork() ? ", made by the driver" : ""));
        lines.add("mounts       " + (mounts ? "taken" : "not taken"));
        if (capabilities.getDynamicWorkloadUsers()) {
            lines.add("users        made up for tasks");
        }
        if (capabilities.getDisableLogCollection()) {
            lines.add("output       of tasks is kept by the driver");
        }
        return new SelfDescription(
                NAME,
                json,
                ImmutableList.of(
                        new Section(TITLE, ImmutableList.copyOf(lines)),
                        new Section("Fingerprint", attributes(fingerprint))));
    }

    private static ImmutableList<String> attributes(Fingerprint fingerprint) {
        int widest = fingerprint.attributes().stream()
                .mapToInt(each -> each.name().length())
                .max()
                .orElse(0);
        List<String> lines = fingerprint.attributes().stream()
                .map(each -> Strings.padEnd(each.name(), widest, ' ') + "  " + each.words())
                .collect(Collectors.toCollection(ArrayList::new));
        if (fingerprint.leftOut() > 0) {
            lines.add("and " + fingerprint.leftOut() + " more");
        }
        return ImmutableList.copyOf(lines);
    }
}
