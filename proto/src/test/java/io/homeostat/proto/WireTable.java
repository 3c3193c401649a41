package io.homeostat.proto;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.OneofDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * What goes over the wire, as lines of text that don't depend on order: each says all of itself, as in
 * {@code message p.M | 1 string name}. Read from a table of the facts or from what protoc made of our files, so that the
 * two can be compared as sets.
 */
final class WireTable {
    private final Set<String> lines = new TreeSet<>();

    private WireTable() {}

    /** In the table's format an indented line belongs to the unindented one above it; # begins a comment, or a file. */
    static Set<String> of(String table) {
        WireTable result = new WireTable();
        String block = "";
        for (String raw : table.lines().toList()) {
            String line = raw.strip().replaceAll("\\s+", " ");
            if (line.startsWith("# file ")) {
                result.lines.add(line.substring(2));
            } else if (raw.startsWith(" ")) {
                result.lines.add(block + " | " + line);
            } else if (!line.isEmpty() && !line.startsWith("#")) {
                block = line;
                result.lines.add(block);
            }
        }
        return result.lines;
    }

    static Set<String> of(FileDescriptor file) {
        WireTable result = new WireTable();
        String imports = file.toProto().getDependencyList().stream().sorted().collect(Collectors.joining(", "));
        result.lines.add("file " + file.getName() + " syntax " + file.toProto().getSyntax() + " package "
                + file.getPackage() + " imports: " + (imports.isEmpty() ? "none" : imports));
        file.getServices().forEach(result::add);
        file.getEnumTypes().forEach(result::add);
        file.getMessageTypes().forEach(result::add);
        return result.lines;
    }

    private void add(ServiceDescriptor service) {
        String block = "service " + service.getFullName();
        lines.add(block);
        for (MethodDescriptor method : service.getMethods()) {
            lines.add(block + " | " + method.getName() + "("
                    + (method.isClientStreaming() ? "stream " : "")
                    + method.getInputType().getFullName() + ") -> "
                    + (method.isServerStreaming() ? "stream " : "")
                    + method.getOutputType().getFullName());
        }
    }

    private void add(EnumDescriptor type) {
        String block = "enum " + type.getFullName();
        lines.add(block);
        lines.add(block + " | "
                + type.getValues().stream()
                        .map(value -> value.getName() + "=" + value.getNumber())
                        .collect(Collectors.joining(", ")));
        for (EnumDescriptorProto.EnumReservedRange range : type.toProto().getReservedRangeList()) {
            addReserved(block, range.getStart(), range.getEnd());
        }
    }

    private void add(Descriptor message) {
        if (message.getOptions().getMapEntry()) {
            return;
        }
        String block = "message " + message.getFullName();
        lines.add(block);
        for (FieldDescriptor field : message.getFields()) {
            OneofDescriptor oneof = field.getRealContainingOneof();
            lines.add(block + " | " + field.getNumber() + " " + label(field) + type(field) + " " + field.getName()
                    + (oneof == null ? "" : " (oneof " + oneof.getName() + ")"));
        }
        for (DescriptorProto.ReservedRange range : message.toProto().getReservedRangeList()) {
            addReserved(block, range.getStart(), range.getEnd() - 1);
        }
        message.getEnumTypes().forEach(this::add);
        message.getNestedTypes().forEach(this::add);
    }

    private void addReserved(String block, int first, int last) {
        lines.add(block + " | reserved " + first + (first == last ? "" : " to " + last));
    }

    private static String label(FieldDescriptor field) {
        if (field.isMapField()) {
            return "";
        }
        if (field.isRepeated()) {
            return "repeated ";
        }
        return field.toProto().getProto3Optional() ? "optional " : "";
    }

    private static String type(FieldDescriptor field) {
        if (field.isMapField()) {
            Descriptor entry = field.getMessageType();
            return "map<" + type(entry.findFieldByNumber(1)) + "," + type(entry.findFieldByNumber(2)) + ">";
        }
        return switch (field.getJavaType()) {
            case MESSAGE -> field.getMessageType().getFullName();
            case ENUM -> field.getEnumType().getFullName();
            default -> field.getType().name().toLowerCase(Locale.ROOT);
        };
    }
}
