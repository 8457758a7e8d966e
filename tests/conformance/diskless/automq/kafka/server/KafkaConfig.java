package kafka.server;

import java.util.Map;

public record KafkaConfig(Map<String, Object> originals) { }
