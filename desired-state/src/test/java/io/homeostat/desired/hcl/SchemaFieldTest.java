package io.homeostat.desired.hcl;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class SchemaFieldTest {
    @Test
    void eachKeyIsDescribedWithTypeAndDefault() throws SchemaException {
        DriverSchema schema = DriverSchema.of(Vector.spec("""
                        {"object": {"attributes": {
                          "image": {"Attr": {"name": "image", "type": "string", "required": true}},
                          "timeout": {"default": {
                            "primary": {"Attr": {"name": "timeout", "type": "string"}},
                            "default": {"literal": {"value": "\\"5m\\""}}}},
                          "gc": {"default": {
                            "primary": {"blockValue": {"name": "gc", "nested": {"object": {"attributes": {
                              "delay": {"Attr": {"name": "delay", "type": "any"}}}}}}},
                            "default": {"literal": {"value": "{ delay = \\"3m\\"\\n on = true }"}}}},
                          "alias": {"Attr": {"name": "written", "type": "object({a = list(number)})"}},
                          "ports": {"blockAttrs": {"name": "ports", "type": "number", "required": true}},
                          "mount": {"blockList": {"name": "mount", "minItems": "1", "maxItems": "3", "nested": {"object": {}}}},
                          "volume": {"blockSet": {"name": "volume", "maxItems": "3", "nested": {"object": {}}}},
                          "disk": {"blockSet": {"name": "disk", "minItems": "2", "nested": {"object": {}}}},
                          "device": {"blockMap": {"name": "device", "labels": ["vendor", "model"], "nested": {"array": {"values": [
                            {"Attr": {"name": "mode", "type": "bool"}}]}}}},
                          "fixed": {"literal": {"value": "1"}}
                        }}}
                        """));

        assertEquals(
                List.of(
                        new SchemaField(List.of("device"), "map of blocks by vendor, model", false, null),
                        new SchemaField(List.of("device", "<vendor>", "<model>", "mode"), "bool", false, null),
                        new SchemaField(List.of("disk"), "set of blocks, at least 2", true, null),
                        new SchemaField(List.of("gc"), "block", false, "{\"delay\":\"3m\",\"on\":true}"),
                        new SchemaField(List.of("gc", "delay"), "any", false, null),
                        new SchemaField(List.of("image"), "string", true, null),
                        new SchemaField(List.of("mount"), "list of blocks, 1 to 3", true, null),
                        new SchemaField(List.of("ports"), "block of any keys, each number", true, null),
                        new SchemaField(List.of("timeout"), "string", false, "\"5m\""),
                        new SchemaField(List.of("volume"), "set of blocks, at most 3", false, null),
                        new SchemaField(List.of("written"), "object({a = list(number)})", false, null)),
                schema.describe());
    }
}
