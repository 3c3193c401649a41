package io.homeostat.reconcile.agent.api;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.homeostat.proto.agent.CommandRequest;
import java.util.List;
import java.util.Optional;

/** Which fields of a request an agent knows: what it would ignore was an option that somebody typed. */
final class KnownFields {
    /** What agents ignored that did not yet say that they refuse what they don't know, with the options that lead to it. */
    private static final ImmutableMap<String, String> IGNORED_BY_FORMER = ImmutableMap.<String, String>builder()
            .put("homeostat.v1.StatusRequest.labels", "-l")
            .put("homeostat.v1.EventsRequest.workloads", "--for")
            .put("homeostat.v1.EventsRequest.since_epoch_millis", "--since")
            .put("homeostat.v1.EventsRequest.limit", "--limit")
            .put("homeostat.v1.EventsRequest.labels", "-l")
            .put("homeostat.v1.LogsRequest.others", "several workloads")
            .put("homeostat.v1.LogsRequest.tail", "--tail")
            .put("homeostat.v1.LogsRequest.since_epoch_millis", "--since")
            .put("homeostat.v1.LogsRequest.timestamps", "--timestamps")
            .put("homeostat.v1.LogsRequest.labels", "-l")
            .put("homeostat.v1.LogsRequest.all", "--all")
            .buildOrThrow();

    private KnownFields() {}

    /** The message and the number of a field of the command that this version does not know; what is said of the presentation may be ignored. */
    static Optional<String> unknown(CommandRequest request) {
        return unknownIn(request.toBuilder().clearPresentation().build());
    }

    private static Optional<String> unknownIn(Message message) {
        if (!message.getUnknownFields().asMap().isEmpty()) {
            return Optional.of("field "
                    + message.getUnknownFields().asMap().keySet().iterator().next() + " of "
                    + message.getDescriptorForType().getName());
        }
        return message.getAllFields().entrySet().stream()
                .filter(field -> field.getKey().getJavaType() == FieldDescriptor.JavaType.MESSAGE)
                .flatMap(
                        field -> (field.getValue() instanceof List<?> list ? list : List.of(field.getValue())).stream())
                .flatMap(value -> unknownIn((Message) value).stream())
                .findFirst();
    }

    /** The options in this request that an agent of a former version may ignore. */
    static ImmutableSortedSet<String> ignoredByFormer(CommandRequest request) {
        return request.getAllFields().entrySet().stream()
                .filter(field -> field.getKey().getContainingOneof() != null)
                .flatMap(field -> ((Message) field.getValue()).getAllFields().keySet().stream())
                .flatMap(field -> Optional.ofNullable(IGNORED_BY_FORMER.get(field.getFullName())).stream())
                .collect(ImmutableSortedSet.toImmutableSortedSet(String::compareTo));
    }
}
